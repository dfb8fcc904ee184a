// SPDX-License-Identifier: Apache-2.0
// Broadcasts between processes.
#include <gtest/gtest.h>

#include "command.hpp"

namespace {

class broadcasts_among : public testing::TestWithParam<int> {};

TEST_P(broadcasts_among, processes_arrive_in_the_order_sent) {
  const distributed::outcome end =
      distributed::run({STARLING_COMMAND, "launch", "-n", std::to_string(GetParam()), "--timeout",
                        "120", "--", BROADCAST_PROGRAM, "40"});
  if (end.code == 77) GTEST_SKIP() << "no transport between processes";
  EXPECT_EQ(end.code, 0) << end.output << end.errors;
}
INSTANTIATE_TEST_SUITE_P(of, broadcasts_among, testing::Values(4, 7));

}  // namespace
