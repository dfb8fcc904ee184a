// SPDX-License-Identifier: Apache-2.0
//
// The awaited work: a chain of dependent kernels on each of many streams.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include <starling/core.hpp>
#include <starling/device.hpp>

#include "clock.hpp"
#include "kernel.hpp"

namespace completion {

/// Numbers that each kernel advances: two warps of a GPU.
inline constexpr int width = 64;

/// A stream, its numbers, and the number of steps that they have made.
struct chain {
  starling::stream queue;
  std::uint64_t* state;
  volatile std::uint64_t* told;
  std::uint64_t steps = 0;
};

/// Times by chain and step: when the kernel's end was visible to the host, when its waiter ran.
class stopwatch {
 public:
  stopwatch(std::size_t chains, std::size_t steps)
      : m_steps(steps), m_ended(chains * steps), m_known(chains * steps) {}

  void ended(std::size_t chain, std::size_t step) { m_ended[chain * m_steps + step] = now_ns(); }
  void known(std::size_t chain, std::size_t step) { m_known[chain * m_steps + step] = now_ns(); }

  /// Returns the microseconds between both; 0 if the waiter was faster than the watcher.
  [[nodiscard]] std::vector<double> latencies() const {
    std::vector<double> us(m_known.size());
    for (std::size_t i = 0; i < us.size(); ++i)
      if (m_ended[i] != 0 && m_ended[i] < m_known[i])
        us[i] = static_cast<double>(m_known[i] - m_ended[i]) * 1e-3;
    return us;
  }

 private:
  std::size_t m_steps;
  std::vector<std::uint64_t> m_ended;  // accessed by the watcher only, while it runs
  std::vector<std::uint64_t> m_known;  // each entry is accessed by one chain only
};

/// Chains on `count` streams of one device.
class chains {
 public:
  chains(starling::device& where, int count, int rounds)
      : m_rounds(rounds),
        m_state(where.allocate<std::uint64_t>(starling::memory_kind::device, size_of(count))),
        m_mirror(where.allocate<std::uint64_t>(starling::memory_kind::pinned, size_of(count))),
        m_told(where.allocate<std::uint64_t>(starling::memory_kind::pinned,
                                             static_cast<std::size_t>(count) * line)) {
    for (std::size_t c = 0; c < static_cast<std::size_t>(count); ++c) {
      m_told.data()[c * line] = 0;
      m_chains.push_back({where.make_stream(starling::priority::high), m_state.data() + c * width,
                          m_told.data() + c * line});
    }
    for (std::size_t i = 0; i < m_mirror.size(); ++i) m_mirror.data()[i] = i;
  }

  [[nodiscard]] std::size_t size() const noexcept { return m_chains.size(); }

  void upload(starling::runtime& rt) {
    m_chains[0].queue.copy(m_state, m_mirror);
    rt.sync_wait(m_chains[0].queue.get_future());
  }

  /// Runs `steps` kernels on every stream, each awaited before the next is submitted; with `stride`
  /// > 1 only every stride-th is awaited.
  void run(starling::runtime& rt, std::uint64_t steps, std::uint64_t stride = 1) {
    run_all(rt, [&](std::size_t c) { return advance_by(m_chains[c], steps, stride); });
  }

  /// As `run`, with a thread beside the workers that polls for the kernels' last stores.
  [[nodiscard]] std::vector<double> run_timed(starling::runtime& rt, std::uint64_t steps) {
    stopwatch times(size(), steps);
    std::atomic<bool> over{false};
    std::vector<std::uint64_t> last;
    for (const chain& c : m_chains) last.push_back(c.steps);
    for (chain& c : m_chains) *c.told = c.steps;
    std::thread watcher([&] { watch(times, over, last); });
    run_all(rt, [&](std::size_t c) { return advance_timed(c, steps, times); });
    over.store(true, std::memory_order_relaxed);
    watcher.join();
    return times.latencies();
  }

  /// Returns whether every kernel ran exactly once and in order.
  [[nodiscard]] bool correct(starling::runtime& rt, bool spoil) {
    m_chains[0].queue.copy(m_mirror, m_state);
    rt.sync_wait(m_chains[0].queue.get_future());
    if (spoil) m_mirror.data()[m_mirror.size() / 2] += 1;
    for (std::size_t i = 0; i < m_mirror.size(); ++i) {
      std::uint64_t expected = i;
      for (std::uint64_t step = 1; step <= m_chains[i / width].steps; ++step)
        expected = advanced(expected, step, m_rounds);
      if (m_mirror.data()[i] != expected) return false;
    }
    return true;
  }

 private:
  static constexpr std::size_t line = 8;  // words of a cache line
  static std::size_t size_of(int count) noexcept { return static_cast<std::size_t>(count) * width; }

  template <class Make>
  void run_all(starling::runtime& rt, Make make) {
    // High: where there is filling work, work for the device has priority, as in any application.
    const starling::executor first = rt.get_executor(starling::priority::high);
    std::vector<starling::future<void>> ends;
    for (std::size_t c = 0; c < size(); ++c) ends.push_back(first.spawn(make(c)));
    rt.sync_wait(starling::when_all(std::move(ends)));
  }

  starling::task<void> advance_by(chain& c, std::uint64_t steps, std::uint64_t stride) {
    for (std::uint64_t i = 1; i <= steps; ++i) {
      c.queue.submit({width}, advance{c.state, ++c.steps, m_rounds, nullptr});
      if (i % stride == 0 || i == steps) co_await c.queue.completion();
    }
  }

  starling::task<void> advance_timed(std::size_t index, std::uint64_t steps, stopwatch& times) {
    chain& c = m_chains[index];
    for (std::uint64_t i = 0; i < steps; ++i) {
      c.queue.submit({width}, advance{c.state, ++c.steps, m_rounds, c.told});
      co_await c.queue.completion();
      times.known(index, i);
    }
  }

  /// Records the ends of kernels until `over` is set. `before` holds each chain's steps so far.
  void watch(stopwatch& times, const std::atomic<bool>& over,
             const std::vector<std::uint64_t>& before) const {
    std::vector<std::uint64_t> last = before;
    while (!over.load(std::memory_order_relaxed)) {
      for (std::size_t c = 0; c < size(); ++c) {
        const std::uint64_t step = *m_chains[c].told;
        if (step == last[c]) continue;
        last[c] = step;
        times.ended(c, step - before[c] - 1);
      }
    }
  }

  int m_rounds;
  starling::buffer<std::uint64_t> m_state;
  starling::buffer<std::uint64_t> m_mirror;
  starling::buffer<std::uint64_t> m_told;
  std::vector<chain> m_chains;
};

}  // namespace completion
