// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <gtest/gtest.h>

#include <starling/core/runtime.hpp>
#include <starling/core/when_all.hpp>
#include <starling/device/interop/kokkos.hpp>

namespace starling::kokkos {

using host_range = Kokkos::RangePolicy<Kokkos::Serial>;
using host_view = Kokkos::View<double*, Kokkos::HostSpace>;

/// A runtime of one, two or four workers, with options from the environment, so that STARLING_CHAOS
/// applies.
class with_kokkos : public testing::TestWithParam<unsigned> {
 protected:
  static runtime_options options() {
    runtime_options o = runtime_options::from_environment();
    o.workers = GetParam();
    o.bind = binding::none;
    o.extra["backend"] = "host";
    return o;
  }
  /// Runs `body()`, a coroutine, to its end.
  template <class Body>
  void run(Body body) {
    rt.sync_wait(body());
  }
  runtime rt{options()};
};

inline const auto worker_counts = testing::Values(1u, 2u, 4u);
inline std::string worker_count_name(const testing::TestParamInfo<unsigned>& info) {
  return std::to_string(info.param) + "_workers";
}

/// Returns the message of the exception that awaiting `f` throws, or an empty string.
template <class Error, class T>
task<std::string> error_of(future<T> f) {
  try {
    static_cast<void>(co_await f);
  } catch (const Error& e) {
    co_return e.what();
  }
  co_return "";
}

}  // namespace starling::kokkos
