// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <set>
#include <utility>

#include <starling/core/detail/spin_lock.hpp>
#include <starling/core/scheduler.hpp>
#include <starling/core/timer.hpp>

namespace starling::detail {

/// Sleeping coroutines by due time.
class timer_queue final : public poller {
 public:
  enum class added : std::uint8_t { cancelled, later, earliest };
  /// Leaves `waiting` to be resumed when `a` is due, unless that has been cancelled.
  /// @throws std::bad_alloc
  [[nodiscard]] added add(timer_awaiter& a, promise_base& waiting);
  /// Resumes `a` now, or keeps it from starting, unless its timer has fired.
  void cancel(timer_awaiter& a) noexcept;

  /// Takes `a` back: its coroutine, which the caller resumes, finds that the runtime ends. False:
  /// its timer has fired.
  [[nodiscard]] bool withdraw(timer_awaiter& a) noexcept;
  /// The runtime ends: of each spawned or posted task, and of what it awaits, it waits for the
  /// sleep there is, else for the next one, and for no other.
  void begin_end() noexcept;
  [[nodiscard]] std::size_t waited_for() const noexcept;
  /// Takes all back and gives their coroutines.
  void end_all(ready_list& ready) noexcept;

  void poll(ready_list& ready) noexcept override;
  [[nodiscard]] std::size_t in_flight() const noexcept override {
    return m_size.load(std::memory_order_relaxed);
  }
  [[nodiscard]] bool needs_polling() const noexcept override { return false; }
  [[nodiscard]] std::uint64_t next_deadline() const noexcept override {
    return m_first.load(std::memory_order_relaxed);
  }

 private:
  // Under the lock:
  void publish() noexcept;
  [[nodiscard]] bool remove(timer_awaiter& a) noexcept;

  mutable spin_lock m_lock;
  std::set<std::pair<std::uint64_t, timer_awaiter*>> m_timers;
  bool m_owner_ends = false;              // guarded by m_lock
  std::size_t m_waited_for = 0;           // of m_timers
  std::atomic<std::uint64_t> m_first{0};  // due time of the earliest, 0 for none
  std::atomic<std::size_t> m_size{0};
};

}  // namespace starling::detail
