// SPDX-License-Identifier: Apache-2.0
// A program that finalizes Kokkos before it creates its runtimes.
#include <string>

#include <gtest/gtest.h>

#include <starling/core/runtime.hpp>
#include <starling/device.hpp>
#include <starling/device/interop/kokkos.hpp>

namespace starling::kokkos {
namespace {

runtime_options options_for(const char* backend) {
  runtime_options o = runtime_options::from_environment();
  o.workers = 1;
  o.extra["backend"] = backend;
  return o;
}

TEST(finalised_kokkos, is_refused_with_the_remedy_or_begins_anew) {
  { const Kokkos::ScopeGuard kokkos; }
  {
    runtime rt(options_for("host"));
    rt.sync_wait([]() -> task<void> {
      try {
        static_cast<void>(get_future(Kokkos::Serial()));
        ADD_FAILURE() << "accepted";
      } catch (const usage_error& e) {
        const std::string text = e.what();
        EXPECT_NE(text.find("let it outlive the runtime"), std::string::npos) << text;
        EXPECT_EQ(text.find("has been finalised") != std::string::npos, is_over()) << text;
      }
      co_return;
    }());
  }
  runtime rt(options_for("kokkos"));
  if (is_over()) {
    EXPECT_THROW(static_cast<void>(devices(rt)), backend_unavailable);
  } else {
    EXPECT_EQ(devices(rt).backend(), backend_kind::kokkos);  // before 3.7
    EXPECT_TRUE(Kokkos::is_initialized());
  }
}

}  // namespace
}  // namespace starling::kokkos
