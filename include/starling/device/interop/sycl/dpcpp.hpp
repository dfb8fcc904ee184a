// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>

#include <sycl/sycl.hpp>

#include <starling/core/error.hpp>

/// What is DPC++'s own: icpx, the open compiler, and any compiler with the runtime alone.
namespace starling::sycl::detail {

/// A member function of `sycl::queue` that submits work: DPC++ adds a parameter at the end, where
/// the call stands in the source.
template <class... Arguments>
using queue_member = ::sycl::event (::sycl::queue::*)(Arguments...,
                                                      const ::sycl::detail::code_location&);

template <class Member, class... Arguments>
::sycl::event call_member(::sycl::queue& on, Member member, Arguments&&... arguments) {
  return (on.*member)(std::forward<Arguments>(arguments)...,
                      ::sycl::detail::code_location::current());
}

/// Whether the work of `e` is over, failed or not: SYCL names no state of events that have failed,
/// DPC++ reports another one.
[[nodiscard]] inline bool has_ended(const ::sycl::event& e) {
  using state = ::sycl::info::event_command_status;
  const state now = e.get_info<::sycl::info::event::command_execution_status>();
  return now != state::submitted && now != state::running;
}
/// @throws usage_error for an event that knows nothing of its work: of a queue that discards events
inline void require_status(const ::sycl::event& e) {
  if (e.get_info<::sycl::info::event::command_execution_status>() ==
      ::sycl::info::event_command_status::ext_oneapi_unknown)
    throw usage_error(
        "sycl::get_future of an event that its queue has discarded: make the queue without "
        "discard_events, or ask for a future of the queue");
}
/// Of an ended one. Some drivers call failed events complete: only a wait is sure to throw.
[[nodiscard]] inline bool has_failed(const ::sycl::event& e) {
  return e.get_info<::sycl::info::event::command_execution_status>() !=
         ::sycl::info::event_command_status::complete;
}

/// The point after everything that the in-order `work` has been given: an empty task.
inline ::sycl::event end_of(::sycl::queue& work) { return work.ext_oneapi_submit_barrier(); }

/// The runtime lives until the process ends, whatever is in flight.
struct keep_alive {};

/// Submitted work begins by itself.
inline void flush(const keep_alive&) noexcept {}

/// Calls the handlers of all queues that have errors, whichever queue is asked: none need be.
inline void hand_out_errors(::sycl::event&) { ::sycl::event().wait_and_throw(); }

/// Calls `f()` on a thread of the runtime when `after` is complete, and says true. If `after`
/// fails, `f` is destroyed without having been called.
template <class F>
bool call_after(const ::sycl::event& after, F f) {
  // A queue for these alone: device commands that wait for host tasks may deadlock in DPC++. What
  // it would report besides the destruction is of no use.
  static auto* const tasks =
      new ::sycl::queue(::sycl::default_selector_v, [](const ::sycl::exception_list&) {});
  tasks->submit([&](::sycl::handler& h) {
    h.depends_on(after);
    h.host_task(std::move(f));
  });
  return true;
}

}  // namespace starling::sycl::detail
