// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>
#include <vector>

#include <sycl/sycl.hpp>

/// What is AdaptiveCpp's own.
namespace starling::sycl::detail {

template <class... Arguments>
using queue_member = ::sycl::event (::sycl::queue::*)(Arguments...);

template <class Member, class... Arguments>
::sycl::event call_member(::sycl::queue& on, Member member, Arguments&&... arguments) {
  return (on.*member)(std::forward<Arguments>(arguments)...);
}

/// The point after everything that the in-order `work` has been given: its last operation.
inline ::sycl::event end_of(::sycl::queue& work) {
  const std::vector<::sycl::event> last = work.get_wait_list();
  return last.empty() ? ::sycl::event() : last.back();
}

/// The runtime ends with the last object of it; this is one.
using keep_alive = ::hipsycl::rt::runtime_keep_alive_token;

/// Submitted work waits to be batched with more, unless it is told not to.
inline void flush(const keep_alive& runtime) { runtime.get()->dag().flush_async(); }

[[nodiscard]] inline bool has_ended(const ::sycl::event& e) {
  return e.get_info<::sycl::info::event::command_execution_status>() ==
         ::sycl::info::event_command_status::complete;
}

/// Its events always know.
inline void require_status(const ::sycl::event&) noexcept {}

inline void hand_out_errors(::sycl::event& after) { after.wait_and_throw(); }

/// There is no `host_task`: completion is polled for.
template <class F>
bool call_after(const ::sycl::event&, F&&) {
  return false;
}

}  // namespace starling::sycl::detail
