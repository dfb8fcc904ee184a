// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <coroutine>

#include <starling/core/detail/promise_base.hpp>
#include <starling/core/detail/worker.hpp>

namespace starling {

/// Lets the other ready work of this worker run first. A coroutine that is not pinned is appended
/// to the runtime's shared queue, where at `priority::high` it takes turns with work of normal
/// priority.
class yield_awaiter {
 public:
  bool await_ready() const noexcept { return false; }
  template <detail::runtime_promise Promise>
  void await_suspend(std::coroutine_handle<Promise> h,
                     const detail::call_location& at = {}) noexcept {
    detail::promise_base& c = h.promise();
    detail::mark_suspended(c, await_kind::ready, nullptr, nullptr, at);
    if (c.pinned)
      detail::worker::current()->push_yielded(c);
    else
      detail::inject_yielded(c);
  }
  void await_resume() const noexcept {}
};

/// Lets other ready work run first: `co_await yield();`
[[nodiscard]] inline yield_awaiter yield() noexcept { return {}; }

}  // namespace starling
