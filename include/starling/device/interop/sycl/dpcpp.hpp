// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>

#include <sycl/sycl.hpp>

#include <starling/core/error.hpp>

/// The functions specific to DPC++: for icpx, the open-source compiler, and any other compiler that
/// uses the runtime only.
namespace starling::sycl::detail {

/// A member function of `sycl::queue` that submits work. DPC++ adds a last parameter: the source
/// location of the call.
template <class... Arguments>
using queue_member = ::sycl::event (::sycl::queue::*)(Arguments...,
                                                      const ::sycl::detail::code_location&);

template <class Member, class... Arguments>
::sycl::event call_member(::sycl::queue& on, Member member, Arguments&&... arguments) {
  return (on.*member)(std::forward<Arguments>(arguments)...,
                      ::sycl::detail::code_location::current());
}

/// Returns whether the work of `e` has ended, successfully or not. SYCL defines no state for failed
/// events; DPC++ then reports a state of its own.
[[nodiscard]] inline bool has_ended(const ::sycl::event& e) {
  using state = ::sycl::info::event_command_status;
  const state now = e.get_info<::sycl::info::event::command_execution_status>();
  return now != state::submitted && now != state::running;
}
/// Checks that `e` has a status. @throws usage_error for an event of a queue that discards events
inline void require_status(const ::sycl::event& e) {
  if (e.get_info<::sycl::info::event::command_execution_status>() ==
      ::sycl::info::event_command_status::ext_oneapi_unknown)
    throw usage_error(
        "sycl::get_future of an event that its queue has discarded: make the queue without "
        "discard_events, or ask for a future of the queue");
}
/// Returns whether an ended event reports failure. Some drivers report failed events as complete:
/// only a wait reliably throws.
[[nodiscard]] inline bool has_failed(const ::sycl::event& e) {
  return e.get_info<::sycl::info::event::command_execution_status>() !=
         ::sycl::info::event_command_status::complete;
}

/// Returns an event after all work of the in-order queue `work`, by submitting a barrier.
inline ::sycl::event end_of(::sycl::queue& work) { return work.ext_oneapi_submit_barrier(); }

/// Empty: DPC++'s runtime exists until the process ends.
struct keep_alive {};

/// Does nothing: submitted work starts without a flush.
inline void flush(const keep_alive&) noexcept {}

/// Calls the handlers of all queues that have errors. DPC++ does so for any event, including a
/// default-constructed event.
inline void hand_out_errors(::sycl::event&) { ::sycl::event().wait_and_throw(); }

/// Calls `f()` on a thread of the SYCL runtime when `after` is complete. If `after` fails, `f` is
/// destroyed without a call. Returns true.
template <class F>
bool call_after(const ::sycl::event& after, F f) {
  // A separate queue for host tasks, because device commands that wait for host tasks may deadlock
  // in DPC++. Its handler ignores errors: the destruction of `f` already signals the failure.
  static auto* const tasks =
      new ::sycl::queue(::sycl::default_selector_v, [](const ::sycl::exception_list&) {});
  tasks->submit([&](::sycl::handler& h) {
    h.depends_on(after);
    h.host_task(std::move(f));
  });
  return true;
}

}  // namespace starling::sycl::detail
