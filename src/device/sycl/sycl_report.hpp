// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <sycl/sycl.hpp>

#include <starling/device/interop/sycl/async_errors.hpp>

#include "../backend.hpp"

namespace starling::detail {

/// What is told at the end of a batch, and to whom.
struct batch_report {
  completion_listener* listener;
  std::uint64_t sequence;
  bool passes;                          // the mark counts as passed with it
  starling::sycl::async_errors errors;  // the handler of the batch's queue
  worker* home;                         // hears of what other queues' handlers throw
};

/// Submits a host task to `teller` that tells when `end` is complete: first of the asynchronous
/// errors of the batch, then that the mark is passed. Should SYCL drop the task, as it does where
/// `end` has failed, that is told as the batch's failure. Returns the task's event.
///
/// `teller` is in order and has no other tasks: DPC++ may deadlock when a device's command waits
/// for a host task while another stream waits for that command. @throws sycl::exception
::sycl::event report_after(::sycl::queue& teller, const ::sycl::event& end, batch_report what);

/// A queue for that. Its tasks throw nothing, and who would be told that one was dropped is told by
/// the task itself: whatever SYCL reports of it besides is of no use.
[[nodiscard]] ::sycl::queue make_teller(const ::sycl::context& where, const ::sycl::device& device);

}  // namespace starling::detail
