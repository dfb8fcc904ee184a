// SPDX-License-Identifier: Apache-2.0
#include <string>

#include <gtest/gtest.h>
#include <starling/core/runtime.hpp>
#include <starling/device.hpp>

namespace starling {
namespace {

TEST(device_parts, are_not_for_devices_of_the_host) {
  runtime_options options;
  options.workers = 1;
  options.bind = binding::none;
  options.extra["backend"] = "host";
  runtime rt(options);
  try {
    static_cast<void>(devices(rt).device(0).divide(1));
    ADD_FAILURE() << "no exception";
  } catch (const usage_error& e) {
    EXPECT_NE(std::string(e.what()).find("device host cannot be divided"), std::string::npos)
        << e.what();
  }
}

}  // namespace
}  // namespace starling
