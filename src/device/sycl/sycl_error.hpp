// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>

#include <sycl/sycl.hpp>

#include <starling/core/error.hpp>

namespace starling::detail {

/// Returns a `device_error` with the name of the call and SYCL's message.
[[nodiscard]] inline device_error make_sycl_error(const ::sycl::exception& e,
                                                  const std::string& call) {
  return device_error("SYCL: " + call + " failed: " + e.what(), e.code().value());
}

/// Calls `f` and rethrows SYCL's exceptions as `device_error`. For every SYCL call that may fail.
template <class F>
decltype(auto) guarded(const char* call, F&& f) {
  try {
    return std::forward<F>(f)();
  } catch (const ::sycl::exception& e) {
    throw make_sycl_error(e, call);
  }
}

}  // namespace starling::detail
