// SPDX-License-Identifier: Apache-2.0
#include "host_driver.hpp"

#include <chrono>
#include <cstring>
#include <system_error>

#include <starling/core/detail/system_resources.hpp>
#include <starling/core/error.hpp>
#include <starling/resident/detail/far_group.hpp>
#include <starling/resident/detail/host_group.hpp>

namespace starling::resident::detail {
namespace {

constexpr std::uint32_t most_threads = 256;

}  // namespace

host_driver::~host_driver() { join(); }

void host_driver::allocate(const layout& l, device_range own) {
  const int of_each = m_group_size == 1 ? 1 : m_group_size + 1;  // plus the receiver
  const std::uint32_t threads = own.count * l.schedulers * static_cast<std::uint32_t>(of_each);
  if (threads > most_threads)
    throw option_error(
        "a resident program on the host has at most " + std::to_string(most_threads) +
        " threads in a process, one or more for each scheduler: " + std::to_string(threads) +
        " were asked for. Take fewer");
  m_world.l = l;
  m_own = own;
  for (std::uint32_t d = own.first; d < own.end(); ++d) {
    m_slabs[d] = shared_memory(l.bytes);
    m_world.slabs[d] = m_slabs[d].data();
  }
}

memory_name host_driver::name_of(std::uint32_t device) { return m_slabs[device].name(); }

void host_driver::map(std::uint32_t device, const memory_name& name) {
  m_slabs[device] = shared_memory(name);
  m_world.slabs[device] = m_slabs[device].data();
}

void host_driver::write(std::uint32_t device, std::uint64_t offset, const void* from,
                        std::size_t bytes) {
  if (bytes != 0) std::memcpy(m_world.slabs[device] + offset, from, bytes);
}

void host_driver::read(std::uint32_t device, std::uint64_t offset, void* to,
                       std::size_t bytes) const {
  if (bytes != 0) std::memcpy(to, m_world.slabs[device] + offset, bytes);
}

void host_driver::start() {
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
    const std::size_t of_each = m_group_size > 1 ? std::size_t(m_group_size) + 1 : 1;
    starling::detail::throw_no_thread(
        "a resident program on the host", got, m_schedulers.size() * of_each,
        "take fewer schedulers or threads in its options", e.code().value());
  }
  give_signal(signal::go);
}

/// Makes a scheduler. If memory is not mapped, its pointers to other devices are far pointers.
std::unique_ptr<host_scheduler> host_driver::make(std::uint32_t scheduler) const {
  if (m_make_far == nullptr) return m_program->make(m_world, scheduler, m_shape);
  world seen = m_world;
  for (std::uint32_t d = 0; d < seen.l.devices; ++d)
    if (d != seen.device_of(scheduler))
      seen.slabs[d] =
          as_far_pointer<std::byte>({d, reinterpret_cast<std::uint64_t>(m_world.slabs[d])});
  return m_make_far(seen, scheduler, m_shape);
}

/// Sets the end flags by atomic stores, as running schedulers poll them.
void host_driver::end_own() noexcept {
  for (std::uint32_t d = m_own.first; d < m_own.end(); ++d)
    host_group::store_release(m_world.at<std::uint32_t>(d, m_world.l.ending), 1u);
}

void host_driver::give_signal(signal what) noexcept {
  m_signal.store(what, std::memory_order_release);
  m_signal.notify_all();
}

/// Waits for the signal. No thread begins before all exist, as the threads of a group wait for each
/// other.
bool host_driver::is_to_go() const noexcept {
  m_signal.wait(signal::wait, std::memory_order_acquire);
  return m_signal.load(std::memory_order_acquire) == signal::go;
}

void host_driver::follow(host_scheduler& mine, int rank) const noexcept {
  if (!is_to_go()) return;
  mine.begin(rank);
  while (mine.step(rank) != work::over) {
  }
}

void host_driver::serve(host_scheduler& mine) noexcept {
  if (!is_to_go()) return;
  std::uint32_t idle_rounds = 0;
  for (work found = work::none; found != work::over; found = mine.serve()) {
    if (m_runtime->chaos(8) == 7) std::this_thread::yield();
    idle_rounds = found == work::none ? idle_rounds + 1 : 0;
    if (idle_rounds != 0) nap(idle_rounds);
  }
}

void host_driver::lead(host_scheduler& mine) noexcept {
  if (!is_to_go()) return;
  mine.begin(0);
  std::uint32_t idle_rounds = 0;
  for (work found = work::none; found != work::over;) {
    // Chaos mode: lets other threads run first at random times.
    if (m_runtime->chaos(8) == 7) std::this_thread::yield();
    found = mine.step(0);
    idle_rounds = found == work::none ? idle_rounds + 1 : 0;
    if (idle_rounds != 0) nap(idle_rounds);
  }
  mine.end();
}

void host_driver::nap(std::uint32_t idle_rounds) noexcept {
  constexpr std::uint32_t patience = 256;
  if (idle_rounds < patience) return std::this_thread::yield();
  const std::uint32_t wakes = m_wakes.load(std::memory_order_acquire);
  // Sleeps without a limit only if no other rank takes part: `wake` does not reach other ranks.
  const bool is_quiescent = is_alone() && host_group::load_acquire(&m_world.link->quiescent_at) ==
                                              std::uint64_t(wakes) + 1;
  if (is_quiescent)  // no work can arise before the host calls `wake`
    m_wakes.wait(wakes, std::memory_order_acquire);
  else
    std::this_thread::sleep_for(std::chrono::microseconds(20));
}

void host_driver::wake() noexcept {
  m_wakes.fetch_add(1, std::memory_order_release);
  m_wakes.notify_all();
}

void host_driver::join() noexcept {
  for (std::thread& t : m_threads)
    if (t.joinable()) t.join();
  m_threads.clear();
}

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
