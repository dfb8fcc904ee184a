// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <starling/core/detail/system_resources.hpp>
#include <starling/core/error.hpp>
#include <starling/resident/detail/far_group.hpp>
#include <starling/resident/detail/host_group.hpp>

#include "resident/driver.hpp"

namespace starling::resident::detail {
namespace {

constexpr std::uint32_t most_threads = 256;

/// The reference implementation: each scheduler runs on one host thread or on several. As on a
/// device, they run independently of the workers, which poll the link.
class host_driver final : public driver {
 public:
  /// `make_far`: null if all memory is mapped.
  host_driver(runtime& rt, const program_description& program, const group_shape& shape,
              program_code::host_maker make_far) noexcept
      : m_runtime(&rt), m_program(&program), m_make_far(make_far), m_shape(shape),
        m_group_size(shape.threads * shape.blocks) {}
  ~host_driver() override { join(); }

  void allocate(const layout& l, device_range own) override {
    const std::uint32_t threads = own.count * l.schedulers * threads_of_each();
    if (threads > most_threads)
      throw option_error(
          "a resident program on the host has at most " + std::to_string(most_threads) +
          " threads in a process, one or more for each scheduler: " + std::to_string(threads) +
          " were asked for. Take fewer");
    m_world.l = l;
    m_own = own;
    for (std::uint32_t d = own.first; d < own.end(); ++d) take(d, shared_memory(l.bytes));
  }
  [[nodiscard]] memory_name name_of(std::uint32_t device) override {
    return m_slabs[device].name();
  }
  void map(std::uint32_t device, const memory_name& name) override {
    take(device, shared_memory(name));
  }
  void write(std::uint32_t device, std::uint64_t offset, const void* from,
             std::size_t bytes) override {
    if (bytes != 0) std::memcpy(m_world.slabs[device] + offset, from, bytes);
  }
  void read(std::uint32_t device, std::uint64_t offset, void* to,
            std::size_t bytes) const override {
    if (bytes != 0) std::memcpy(to, m_world.slabs[device] + offset, bytes);
  }
  void start() override {
    const std::uint32_t end = m_own.end() * m_world.l.schedulers;
    for (std::uint32_t i = m_own.first * m_world.l.schedulers; i < end; ++i)
      m_schedulers.push_back(make(i));
    try {
      for (const auto& s : m_schedulers) {
        m_threads.emplace_back([this, &s] { lead(*s); });
        for (int rank = 1; rank < m_group_size; ++rank)
          m_threads.emplace_back([this, &s, rank] { follow(*s, rank); });
        if (m_group_size > 1) m_threads.emplace_back([this, &s] { serve(*s); });
      }
    } catch (const std::system_error& e) {
      const std::size_t got = m_threads.size();
      give_signal(signal::leave);
      join();
      starling::detail::throw_no_thread(
          "a resident program on the host", got, m_schedulers.size() * threads_of_each(),
          "take fewer schedulers or threads in its options", e.code().value());
    }
    give_signal(signal::go);
  }
  /// Sets the end flags by atomic stores, as running schedulers poll them.
  void end_own() noexcept override {
    for (std::uint32_t d = m_own.first; d < m_own.end(); ++d)
      host_group::store_release(m_world.at<std::uint32_t>(d, m_world.l.ending), 1u);
  }
  void wake() noexcept override {
    m_wakes.fetch_add(1, std::memory_order_release);
    m_wakes.notify_all();
  }
  void join() noexcept override {
    for (std::thread& t : m_threads)
      if (t.joinable()) t.join();
    m_threads.clear();
  }

 private:
  enum class signal : int { wait, go, leave };

  void take(std::uint32_t device, shared_memory slab) noexcept {
    m_slabs[device] = std::move(slab);
    m_world.slabs[device] = m_slabs[device].data();
  }
  /// Returns the threads of a scheduler: its group, and a receiver unless the group is one thread.
  [[nodiscard]] std::uint32_t threads_of_each() const noexcept {
    return static_cast<std::uint32_t>(m_group_size == 1 ? 1 : m_group_size + 1);
  }
  /// Makes a scheduler. If memory is not mapped, its pointers to other devices are far pointers.
  [[nodiscard]] std::unique_ptr<host_scheduler> make(std::uint32_t scheduler) const {
    if (m_make_far == nullptr) return m_program->make(m_world, scheduler, m_shape);
    world seen = m_world;
    for (std::uint32_t d = 0; d < seen.l.devices; ++d)
      if (d != seen.device_of(scheduler))
        seen.slabs[d] =
            as_far_pointer<std::byte>({d, reinterpret_cast<std::uint64_t>(m_world.slabs[d])});
    return m_make_far(seen, scheduler, m_shape);
  }
  void give_signal(signal what) noexcept {
    m_signal.store(what, std::memory_order_release);
    m_signal.notify_all();
  }
  /// Waits for the signal. No thread begins before all exist, as the threads of a group wait for
  /// each other.
  [[nodiscard]] bool is_to_go() const noexcept {
    m_signal.wait(signal::wait, std::memory_order_acquire);
    return m_signal.load(std::memory_order_acquire) == signal::go;
  }
  void lead(host_scheduler& mine) noexcept {
    if (!is_to_go()) return;
    mine.begin(0);
    repeat([&mine] { return mine.step(0); });
    mine.end();
  }
  void follow(host_scheduler& mine, int rank) const noexcept {
    if (!is_to_go()) return;
    mine.begin(rank);
    while (mine.step(rank) != work::over) {
    }
  }
  void serve(host_scheduler& mine) noexcept {
    if (is_to_go()) repeat([&mine] { return mine.serve(); });
  }
  /// Calls f() until it returns `over`; naps while it finds no work.
  template <class F>
  void repeat(F f) noexcept {
    std::uint32_t idle_rounds = 0;
    for (work found = work::none; found != work::over;) {
      // Chaos mode: lets other threads run first at random times.
      if (m_runtime->chaos(8) == 7) std::this_thread::yield();
      found = f();
      idle_rounds = found == work::none ? idle_rounds + 1 : 0;
      if (idle_rounds != 0) nap(idle_rounds);
    }
  }
  void nap(std::uint32_t idle_rounds) noexcept {
    constexpr std::uint32_t patience = 256;
    if (idle_rounds < patience) return std::this_thread::yield();
    const std::uint32_t wakes = m_wakes.load(std::memory_order_acquire);
    // Sleeps without a limit only if this rank has all devices: `wake` does not reach other ranks.
    const bool is_quiescent =
        m_own.count == m_world.l.devices &&
        host_group::load_acquire(&m_world.link->quiescent_at) == std::uint64_t(wakes) + 1;
    if (is_quiescent)  // no work can arise before the host calls `wake`
      m_wakes.wait(wakes, std::memory_order_acquire);
    else
      std::this_thread::sleep_for(std::chrono::microseconds(20));
  }

  runtime* m_runtime;
  const program_description* m_program;
  program_code::host_maker m_make_far;
  group_shape m_shape;
  int m_group_size;
  shared_memory m_slabs[max_devices];
  std::vector<std::unique_ptr<host_scheduler>> m_schedulers;
  std::vector<std::thread> m_threads;
  // Leaves `wait` once. Release: threads that see the change see all schedulers.
  std::atomic<signal> m_signal{signal::wait};
  // Grows with each message of the host. Release: a thread that sees it sees the message.
  std::atomic<std::uint32_t> m_wakes{0};
};

}  // namespace

std::unique_ptr<driver> make_host_driver(runtime& rt, const program_description& program,
                                         const group_shape& shape, reach way) {
  program_code::host_maker make_far = nullptr;
  if (way != reach::mapped) {
    make_far = program.code->make_far.load(std::memory_order_relaxed);
    if (make_far == nullptr)
      throw usage_error(
          "there is no code of this resident program for the host that is not `mapped`: compile it "
          "in a .cpp file with `template struct starling::resident::host::instantiate_far<…>;`, or "
          "leave `reach` as it is");
  }
  return std::make_unique<host_driver>(rt, program, shape, make_far);
}

}  // namespace starling::resident::detail
