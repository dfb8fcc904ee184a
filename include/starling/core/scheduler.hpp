// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <coroutine>
#include <cstddef>
#include <source_location>

#include <starling/core/detail/promise_base.hpp>
#include <starling/core/detail/worker.hpp>

namespace starling {

/// A source of completions that workers look at between tasks: device streams, network, timers.
///
/// Modules install theirs with `runtime::add_poller`; users never do. One thread polls at a time.
class poller {
 public:
  virtual ~poller() = default;

  /// Appends every coroutine whose wait is over. Runs no user code and must not block: the
  /// scheduler resumes the list after the call, each on its home worker.
  virtual void poll(detail::ready_list& ready) noexcept = 0;

  /// Operations under way that will make a coroutine ready by themselves. While any poller counts
  /// some, the run is not hung. Any thread.
  [[nodiscard]] virtual std::size_t in_flight() const noexcept = 0;

  /// Whether some of those can be seen only by polling, so that one worker must stay awake. False
  /// where completion wakes a worker itself. Any thread.
  [[nodiscard]] virtual bool needs_polling() const noexcept { return in_flight() != 0; }

  /// When the next poll is of use although nothing needs one now: steady clock ns, 0 for never.
  /// A sleeping worker wakes for it.
  [[nodiscard]] virtual std::uint64_t next_deadline() const noexcept { return 0; }
};

/// Lets everything else that is ready on this worker run first. Where any worker may go on with
/// the coroutine, it joins the work from outside the runtime, at `priority::high` as the next but
/// one.
class yield_awaiter {
 public:
  bool await_ready() const noexcept { return false; }
  template <detail::runtime_promise Promise>
  void await_suspend(std::coroutine_handle<Promise> h,
                     const detail::source_mark& at = {}) noexcept {
    detail::promise_base& c = h.promise();
    detail::mark_suspended(c, await_kind::ready, nullptr, nullptr, at);
    if (c.pinned)
      detail::worker::current()->push_yielded(c);
    else
      detail::inject_yielded(c);
  }
  void await_resume() const noexcept {}
};

/// `co_await yield();`
[[nodiscard]] inline yield_awaiter yield() noexcept { return {}; }

}  // namespace starling
