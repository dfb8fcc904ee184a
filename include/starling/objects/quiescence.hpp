// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <coroutine>

#include <starling/core/detail/promise_base.hpp>
#include <starling/core/detail/worker.hpp>
#include <starling/objects/detail/job.hpp>

namespace starling {

/// See quiescence().
class quiescence_awaiter {
 public:
  bool await_ready() const noexcept { return false; }
  template <detail::runtime_promise Promise>
  void await_suspend(std::coroutine_handle<Promise> h, const detail::source_mark& at = {}) {
    detail::mark_suspended(h.promise(), await_kind::custom, nullptr, nullptr, at);
    if (detail::job* others = detail::others_here())
      others->resume_at_rest(h.promise());
    else
      detail::resume_at_rest(h.promise());
  }
  void await_resume() const noexcept {}
};

/// `co_await quiescence()`: until on no rank a message is on its way, no task can run and no device
/// work, timer or promised work from outside is in flight. What only waits (for messages that
/// nobody sends, or for quiescence itself) does not count; all who await quiescence go on
/// together.
[[nodiscard]] inline quiescence_awaiter quiescence() noexcept { return {}; }

}  // namespace starling
