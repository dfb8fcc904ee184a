// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <coroutine>
#include <cstdint>
#include <stop_token>
#include <utility>

#include <starling/core/detail/promise_base.hpp>
#include <starling/core/detail/stoppable.hpp>
#include <starling/core/detail/worker.hpp>
#include <starling/core/error.hpp>

namespace starling {
namespace detail {

class timer_queue;

/// Withdraws a coroutine from its timer; its sleep throws `runtime_ends`. False: the timer fired.
[[nodiscard]] bool withdraw_sleeper(promise_base& sleeper) noexcept;

class timer_awaiter {
 public:
  explicit timer_awaiter(std::uint64_t due_ns, timer_queue* queue = nullptr) noexcept
      : m_due(due_ns), m_queue(queue) {}
  bool await_ready() const noexcept { return false; }
  template <runtime_promise Promise>
  bool await_suspend(std::coroutine_handle<Promise> h, const detail::call_location& at = {}) {
    mark_suspended(h.promise(), await_kind::timer, this, &withdraw_sleeper, at);
    return confirm_suspended(h.promise(), start(h.promise()));
  }
  void await_resume() const {
    if (m_ended_by == ended_by::stop) throw operation_cancelled();
    if (m_ended_by == ended_by::runtime) throw runtime_ends();
  }

  /// Ends the sleep with `operation_cancelled`. Any thread, see detail::stoppable.
  void cancel() noexcept;

 private:
  friend timer_queue;
  friend bool withdraw_sleeper(promise_base& sleeper) noexcept;
  enum class ended_by : std::uint8_t { time, stop, runtime };
  [[nodiscard]] bool start(promise_base& waiting);

  std::uint64_t m_due;
  timer_queue* m_queue;  // set before the wait begins if a stop token may end it
  // Guarded by the queue's lock:
  promise_base* m_waiting = nullptr;
  bool m_stopped = false;
  ended_by m_ended_by = ended_by::time;
  bool m_is_waited_for = false;  // the end of the runtime waits for this sleep
};

/// Returns the timers of the calling worker's runtime. @throws usage_error on other threads
[[nodiscard]] timer_queue& current_timers();

[[nodiscard]] inline std::uint64_t steady_ns(std::chrono::steady_clock::time_point due) noexcept {
  const auto ns = std::chrono::duration_cast<std::chrono::nanoseconds>(due.time_since_epoch());
  return ns.count() > 0 ? std::uint64_t(ns.count()) : 1;
}

/// Returns the time `length` from now; lengths beyond a century give the limits of the clock.
template <class Rep, class Period>
[[nodiscard]] std::chrono::steady_clock::time_point from_now(
    std::chrono::duration<Rep, Period> length) noexcept {
  using clock = std::chrono::steady_clock;
  constexpr std::chrono::duration<double> limit(std::chrono::hours(24 * 36524));  // a century
  if (std::chrono::duration<double>(length) > limit) return clock::time_point::max();
  if (std::chrono::duration<double>(length) < -limit) return clock::time_point{};
  return clock::now() + std::chrono::duration_cast<clock::duration>(length);
}

}  // namespace detail

/// Suspends the coroutine until the steady clock reaches `due`: `co_await sleep_until(t)`. The
/// worker runs other work meanwhile, or sleeps. While the runtime ends, the await may throw
/// `runtime_ends`, see `~runtime`.
[[nodiscard]] inline detail::timer_awaiter sleep_until(
    std::chrono::steady_clock::time_point due) noexcept {
  return detail::timer_awaiter(detail::steady_ns(due));
}

/// As above; the await throws `operation_cancelled` if `stop` is requested before `due`.
[[nodiscard]] inline detail::stoppable<detail::timer_awaiter> sleep_until(
    std::chrono::steady_clock::time_point due, std::stop_token stop) {
  return detail::stoppable<detail::timer_awaiter>(std::move(stop), detail::steady_ns(due),
                                                  &detail::current_timers());
}

/// Suspends the coroutine for `length`: `co_await sleep_for(5ms)`. A length of over a
/// century has no end.
template <class Rep, class Period>
[[nodiscard]] detail::timer_awaiter sleep_for(std::chrono::duration<Rep, Period> length) noexcept {
  return sleep_until(detail::from_now(length));
}

template <class Rep, class Period>
[[nodiscard]] detail::stoppable<detail::timer_awaiter> sleep_for(
    std::chrono::duration<Rep, Period> length, std::stop_token stop) {
  return sleep_until(detail::from_now(length), std::move(stop));
}

}  // namespace starling
