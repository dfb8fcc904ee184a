// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>

#include <sycl/sycl.hpp>

#include <starling/core/error.hpp>

namespace starling::detail {

/// A `device_error` that names the call and what SYCL says of it.
[[nodiscard]] inline device_error make_sycl_error(const ::sycl::exception& e,
                                                  const std::string& call) {
  return device_error("SYCL: " + call + " failed: " + e.what(), e.code().value());
}

/// Every call of SYCL that may fail goes through here: its exceptions become `device_error`.
template <class F>
decltype(auto) guarded(const char* call, F&& f) {
  try {
    return std::forward<F>(f)();
  } catch (const ::sycl::exception& e) {
    throw make_sycl_error(e, call);
  }
}

}  // namespace starling::detail
