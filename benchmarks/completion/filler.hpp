// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>
#include <vector>

#include <starling/core.hpp>

#include "clock.hpp"

namespace completion {

/// Useful host work that keeps every worker busy, in units of about a microsecond, each timed. The
/// host's cost of a wait is derived from the workers' time outside these units.
class filler {
 public:
  explicit filler(starling::runtime& rt) : m_runtime(&rt), m_done(rt.worker_count()) {}

  void start() {
    m_stop.store(false, std::memory_order_relaxed);
    for (unsigned w = 0; w < m_runtime->worker_count(); ++w)
      m_ends.push_back(m_runtime->on_worker(w).spawn(work(m_done[w])));
  }

  void stop() {
    m_stop.store(true, std::memory_order_relaxed);
    m_runtime->sync_wait(starling::when_all(std::move(m_ends)));
    m_ends.clear();
  }

  struct total {
    std::uint64_t units = 0;
    std::uint64_t ns = 0;  // inside units
  };
  /// Returns and resets the sum over all workers. Call it only when stopped.
  [[nodiscard]] total take() noexcept {
    total sum;
    for (counter& c : m_done) {
      sum.units += std::exchange(c.done.units, 0);
      sum.ns += std::exchange(c.done.ns, 0);
    }
    return sum;
  }

 private:
  struct alignas(64) counter {
    total done;  // written by one worker
    std::uint64_t result = 1;
  };

  starling::task<void> work(counter& mine) {
    while (!m_stop.load(std::memory_order_relaxed)) {
      const std::uint64_t begin = now_ns();
      for (int r = 0; r < 700; ++r) mine.result = mine.result * 6364136223846793005ULL + 1442695ULL;
      mine.done.units += 1;
      mine.done.ns += now_ns() - begin;
      co_await starling::yield();
    }
  }

  starling::runtime* m_runtime;
  std::vector<counter> m_done;
  std::vector<starling::future<void>> m_ends;
  std::atomic<bool> m_stop{false};  // relaxed: a hint that publishes no data
};

}  // namespace completion
