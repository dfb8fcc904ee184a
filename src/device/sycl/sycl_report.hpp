// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <sycl/sycl.hpp>

#include <starling/device/interop/sycl/async_errors.hpp>

#include "../backend.hpp"

namespace starling::detail {

/// The report at the end of a stretch: content and receiver.
struct batch_report {
  completion_listener* listener;
  std::uint64_t sequence;
  bool passes;                          // the report also passes the mark
  starling::sycl::async_errors errors;  // the handler of the stretch's queue
  worker* home;                         // for reports of exceptions of other queues' handlers
};

/// Submits a host task to the report queue `teller`. When `end` is complete, the task reports the
/// asynchronous errors of the stretch and then the passed mark. If SYCL drops the task, as it does
/// when `end` has failed, that is reported as the stretch's failure. Returns the task's event.
///
/// `teller` is in order and has no other tasks: DPC++ may deadlock when a device's command waits
/// for a host task while another stream waits for that command. @throws sycl::exception
::sycl::event report_after(::sycl::queue& teller, const ::sycl::event& end, batch_report what);

/// Makes a report queue. Its asynchronous errors are ignored: its tasks do not throw, and a dropped
/// task reports itself.
[[nodiscard]] ::sycl::queue make_teller(const ::sycl::context& where, const ::sycl::device& device);

}  // namespace starling::detail
