// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <coroutine>
#include <cstdint>

#include <starling/core/detail/promise_base.hpp>
#include <starling/core/detail/worker.hpp>
#include <starling/core/error.hpp>
#include <starling/core/runtime.hpp>
#include <starling/objects/detail/job.hpp>

namespace starling {

/// The awaitable returned by quiescence().
class quiescence_awaiter {
 public:
  quiescence_awaiter() noexcept = default;
  /// `before_others`: for the runtime, on rank 0. Other waiters wait for the next quiescence.
  explicit quiescence_awaiter(bool before_others) noexcept : m_before_others(before_others) {}

  bool await_ready() noexcept {
    m_ended_before = runtime::current()->ended_runs();
    return detail::run_has_ended();
  }
  template <detail::runtime_promise Promise>
  void await_suspend(std::coroutine_handle<Promise> h, const detail::call_location& at = {}) {
    detail::mark_suspended(h.promise(), await_kind::custom, nullptr, nullptr, at);
    detail::job* const j = detail::current_job();
    if (j == nullptr)
      detail::resume_at_quiescence(h.promise(), m_before_others);
    else if (m_before_others)
      j->resume_first_at_quiescence(h.promise());
    else
      j->resume_at_quiescence(h.promise());
  }
  void await_resume() const {
    if (detail::run_has_ended() || runtime::current()->ended_runs() != m_ended_before)
      throw operation_cancelled();
  }

 private:
  bool m_before_others = false;
  std::uint64_t m_ended_before = 0;  // number of ended runs when the wait began
};

/// Returns an awaitable that completes when, on all ranks, no message is in flight, no task can
/// run, and no device work, timer or announced external work is in flight. Coroutines that only
/// wait (for messages that are never sent, or for quiescence itself) do not delay it. All waiters
/// resume together. The wait throws operation_cancelled when the run ends, before or during it, by
/// an error that no task awaits or by `exit_run`.
[[nodiscard]] inline quiescence_awaiter quiescence() noexcept { return {}; }

}  // namespace starling
