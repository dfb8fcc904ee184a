// SPDX-License-Identifier: Apache-2.0
#include <filesystem>

#include <gtest/gtest.h>
#include <unistd.h>

#include "support/expected_skips.hpp"

namespace {

using starling_test::excuse_of;

TEST(skips, of_a_build_without_a_part_are_excused) {
  EXPECT_NE(excuse_of("this program was built without CUDA; configure with …"), nullptr);
}

TEST(skips, for_a_reason_that_is_not_listed_are_not_excused) {
  EXPECT_EQ(excuse_of("it did not feel like it"), nullptr);
  EXPECT_EQ(excuse_of(""), nullptr);
}

TEST(skips, for_want_of_a_gpu_are_excused_only_where_there_is_none) {
  EXPECT_EQ(excuse_of("CUDA finds no device here: no driver") == nullptr,
            std::filesystem::exists("/dev/nvidia0"));
}

/// Run by another test, which expects it to fail.
TEST(skips, DISABLED_without_an_excuse_fail) { GTEST_SKIP() << "it did not feel like it"; }

/// Run by another test, which expects it to be ended.
TEST(time_limit, DISABLED_ends_a_case_that_hangs) {
  for (;;) ::pause();
}

}  // namespace
