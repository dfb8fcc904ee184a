// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <coroutine>
#include <cstdint>
#include <source_location>
#include <stop_token>
#include <utility>

#include <starling/core/detail/promise_base.hpp>
#include <starling/core/detail/stoppable.hpp>
#include <starling/core/detail/worker.hpp>
#include <starling/core/error.hpp>

namespace starling {
namespace detail {

class timer_queue;

/// Takes a sleeping coroutine back from its timer; it finds that the runtime ends.
[[nodiscard]] bool withdraw_sleeper(promise_base& sleeper) noexcept;

class timer_awaiter {
 public:
  explicit timer_awaiter(std::uint64_t due_ns, timer_queue* queue = nullptr) noexcept
      : m_due(due_ns), m_queue(queue) {}
  bool await_ready() const noexcept { return false; }
  template <runtime_promise Promise>
  bool await_suspend(std::coroutine_handle<Promise> h, const detail::source_mark& at = {}) {
    mark_suspended(h.promise(), await_kind::timer, this, &withdraw_sleeper, at);
    return waits_or_goes_on(h.promise(), start(h.promise()));
  }
  void await_resume() const {
    if (m_ended_by == ended_by::stop) throw operation_cancelled();
    if (m_ended_by == ended_by::runtime) throw runtime_ends();
  }

  /// Any thread, see detail::stoppable.
  void cancel() noexcept;

 private:
  friend timer_queue;
  friend bool withdraw_sleeper(promise_base& sleeper) noexcept;
  enum class ended_by : std::uint8_t { time, stop, runtime };
  [[nodiscard]] bool start(promise_base& waiting);

  std::uint64_t m_due;
  timer_queue* m_queue;  // known before the wait begins where a stop token may end it
  // Guarded by the queue's lock:
  promise_base* m_waiting = nullptr;
  bool m_stopped = false;
  ended_by m_ended_by = ended_by::time;
  bool m_is_waited_for = false;  // by the end of the runtime
};

/// The timers of the calling worker's runtime. @throws usage_error elsewhere
[[nodiscard]] timer_queue& current_timers();

[[nodiscard]] inline std::uint64_t steady_ns(std::chrono::steady_clock::time_point due) noexcept {
  const auto ns = std::chrono::duration_cast<std::chrono::nanoseconds>(due.time_since_epoch());
  return ns.count() > 0 ? std::uint64_t(ns.count()) : 1;
}

/// The time after `length` from now; lengths beyond what the clock can tell end at its limits.
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

/// `co_await sleep_until(t)`: resumes once the steady clock has reached `t`; the worker goes on
/// with other work, or sleeps until then. One that begins while its runtime ends may throw
/// `runtime_ends`, see `~runtime`.
[[nodiscard]] inline detail::timer_awaiter sleep_until(
    std::chrono::steady_clock::time_point due) noexcept {
  return detail::timer_awaiter(detail::steady_ns(due));
}

/// As above, until `stop` is requested: then awaiting it throws `operation_cancelled`.
[[nodiscard]] inline detail::stoppable<detail::timer_awaiter> sleep_until(
    std::chrono::steady_clock::time_point due, std::stop_token stop) {
  return detail::stoppable<detail::timer_awaiter>(std::move(stop), detail::steady_ns(due),
                                                  &detail::current_timers());
}

/// `co_await sleep_for(5ms)`. More than a century is for ever.
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
