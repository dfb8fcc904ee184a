// SPDX-License-Identifier: Apache-2.0
// Transfers of device memory between processes; tools/gpu_check.sh runs the same test on GPUs.
#include <gtest/gtest.h>

#include "command.hpp"

namespace {

class device_channels_of : public testing::TestWithParam<const char*> {};

TEST_P(device_channels_of, deliver_the_sent_data) {
  const distributed::outcome end =
      distributed::run({STARLING_COMMAND, "launch", "-n", GetParam(), DEVICE_CHANNEL_PROGRAM,
                        "--starling-backend", "host", "--starling-workers", "1"});
  EXPECT_EQ(end.code, 0) << end.errors;
  EXPECT_EQ(end.output, "0 arrays came wrong\n");
}

TEST(device_channels, that_deliver_wrong_data_are_detected) {
  const distributed::outcome end =
      distributed::run({STARLING_COMMAND, "launch", "-n", "2", DEVICE_CHANNEL_PROGRAM, "spoil",
                        "--starling-backend", "host", "--starling-workers", "1"});
  EXPECT_NE(end.code, 0);
}

INSTANTIATE_TEST_SUITE_P(ranks, device_channels_of, testing::Values("1", "2", "3"),
                         [](const auto& i) { return std::string(i.param); });

}  // namespace
