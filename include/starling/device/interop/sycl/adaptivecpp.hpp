// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>
#include <vector>

#include <sycl/sycl.hpp>

/// The functions specific to AdaptiveCpp.
namespace starling::sycl::detail {

template <class... Arguments>
using queue_member = ::sycl::event (::sycl::queue::*)(Arguments...);

template <class Member, class... Arguments>
::sycl::event call_member(::sycl::queue& on, Member member, Arguments&&... arguments) {
  return (on.*member)(std::forward<Arguments>(arguments)...);
}

/// Returns an event after all work of the in-order queue `work`: that of its last operation.
inline ::sycl::event end_of(::sycl::queue& work) {
  const std::vector<::sycl::event> last = work.get_wait_list();
  return last.empty() ? ::sycl::event() : last.back();
}

/// Keeps AdaptiveCpp's runtime in existence: it is destroyed with the last object that refers to
/// it.
using keep_alive = ::hipsycl::rt::runtime_keep_alive_token;

/// Starts submitted work at once, which AdaptiveCpp would otherwise delay for batching.
inline void flush(const keep_alive& runtime) { runtime.get()->dag().flush_async(); }

[[nodiscard]] inline bool has_ended(const ::sycl::event& e) {
  return e.get_info<::sycl::info::event::command_execution_status>() ==
         ::sycl::info::event_command_status::complete;
}

/// No check: events of AdaptiveCpp always have a status.
inline void require_status(const ::sycl::event&) noexcept {}

inline void hand_out_errors(::sycl::event& after) { after.wait_and_throw(); }

/// Returns false: AdaptiveCpp has no `host_task`, so completion is polled.
template <class F>
bool call_after(const ::sycl::event&, F&&) {
  return false;
}

}  // namespace starling::sycl::detail
