// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <set>
#include <utility>

#include <starling/core/detail/spin_lock.hpp>
#include <starling/core/poller.hpp>
#include <starling/core/timer.hpp>

namespace starling::detail {

/// Sleeping coroutines, ordered by due time.
class timer_queue final : public poller {
 public:
  enum class added : std::uint8_t { cancelled, later, earliest };
  /// Registers `waiting` to be resumed when `a` is due, unless `a` has been cancelled.
  /// @throws std::bad_alloc
  [[nodiscard]] added add(timer_awaiter& a, promise_base& waiting);
  /// Resumes the coroutine of `a` now, or prevents its wait, unless the timer has fired.
  void cancel(timer_awaiter& a) noexcept;

  /// Withdraws `a`: its coroutine, which the caller resumes, throws runtime_ends. False: the timer
  /// has fired.
  [[nodiscard]] bool withdraw(timer_awaiter& a) noexcept;
  /// Begins the end of the runtime. The runtime waits for one sleep of each spawned or posted task,
  /// including the children that the task awaits: the current sleep, or else the next one.
  void begin_end() noexcept;
  /// Returns the number of sleeps that the end of the runtime waits for.
  [[nodiscard]] std::size_t waited_for() const noexcept;
  /// Withdraws all timers and appends their coroutines to `ready`; they throw runtime_ends.
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
  // These require m_lock:
  void publish() noexcept;
  [[nodiscard]] bool remove(timer_awaiter& a) noexcept;

  mutable spin_lock m_lock;  // guards all fields; the atomics are read without it
  // Not a heap: `cancel` and `withdraw` remove timers from the middle, for which a heap would have
  // to be searched.
  std::set<std::pair<std::uint64_t, timer_awaiter*>> m_timers;
  bool m_owner_ends = false;              // the runtime ends
  std::size_t m_waited_for = 0;           // sleeps that the end of the runtime waits for
  std::atomic<std::uint64_t> m_first{0};  // due time of the earliest timer, 0 for none
  std::atomic<std::size_t> m_size{0};
};

}  // namespace starling::detail
