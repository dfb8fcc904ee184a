// SPDX-License-Identifier: Apache-2.0
// A program that does not initialize Kokkos itself; the backend does.
#include <string>

#include <gtest/gtest.h>

#include <starling/core/runtime.hpp>
#include <starling/device.hpp>
#include <starling/device/interop/kokkos.hpp>

namespace starling::kokkos {
namespace {

runtime_options options_for(const char* backend) {
  runtime_options o = runtime_options::from_environment();
  o.workers = 2;
  o.extra["backend"] = backend;
  return o;
}

template <class Call>
std::string refusal_of(Call call) {
  try {
    call();
  } catch (const usage_error& e) {
    return e.what();
  }
  return "accepted";
}

TEST(uninitialised_kokkos, is_refused_by_the_interop_and_started_by_the_backend) {
  ASSERT_FALSE(Kokkos::is_initialized()) << "another test of this program did";
  {
    runtime rt(options_for("host"));
    rt.sync_wait([]() -> task<void> {
      const auto serial = []() { static_cast<void>(get_future(Kokkos::Serial())); };
      EXPECT_NE(refusal_of(serial).find("create a Kokkos::ScopeGuard"), std::string::npos);
      const auto lent = []() { const instance<Kokkos::Serial> own; };
      EXPECT_NE(refusal_of(lent).find("create a Kokkos::ScopeGuard"), std::string::npos);
      co_return;
    }());
  }
  runtime rt(options_for("kokkos"));
  EXPECT_EQ(devices(rt).backend(), backend_kind::kokkos);
  EXPECT_TRUE(Kokkos::is_initialized());
  EXPECT_NE(devices(rt).device(0).properties().name.find("Kokkos"), std::string::npos);
}

}  // namespace
}  // namespace starling::kokkos
