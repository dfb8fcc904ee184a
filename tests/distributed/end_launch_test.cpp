// SPDX-License-Identifier: Apache-2.0
// How runs of several processes end, and which errors the user gets.
#include <gtest/gtest.h>

#include "command.hpp"
#include "job_output.hpp"

namespace {

using distributed::count;

distributed::outcome end_of(const std::string& deed) {
  return distributed::run(
      {STARLING_COMMAND, "launch", "-n", "3", "--timeout", "60", "--", END_PROGRAM, deed});
}

class errors_of_a_rank : public testing::TestWithParam<const char*> {};

TEST_P(errors_of_a_rank, are_reported_once_and_end_the_job) {
  const distributed::outcome end = end_of(GetParam());
  if (distributed::contains(end.errors, "built without UCX")) GTEST_SKIP() << end.errors;
  EXPECT_EQ(end.code, 1) << end.errors;
  EXPECT_EQ(count(end.errors, "the density is negative"), 1) << end.errors;
  EXPECT_CONTAINS(end.errors, "starling: rank 1: node[1].fail: the density is negative");
  EXPECT_FALSE(distributed::contains(end.errors, "terminate called")) << end.errors;
}
INSTANTIATE_TEST_SUITE_P(of, errors_of_a_rank, testing::Values("error", "busy"),
                         [](const auto& info) { return std::string(info.param); });

TEST(wrong_options_of_a_job, are_reported_once) {
  for (int round = 0; round < 10; ++round) {
    const distributed::outcome end = distributed::run(
        {STARLING_COMMAND, "launch", "-n", "4", "--timeout", "60", "--", END_PROGRAM, "error"},
        {{"STARLING_WORKERS", "many"}});
    EXPECT_EQ(end.code, 2) << end.errors;
    EXPECT_EQ(count(end.errors, "'many' is not a number"), 1) << end.errors;
  }
}

TEST(wrong_options_of_a_job, that_differ_are_all_reported) {
  const distributed::outcome end = distributed::run(
      {STARLING_COMMAND, "launch", "-n", "3", "--timeout", "60", "--", "sh", "-c",
       "STARLING_WORKERS=${STARLING_LAUNCH_RANK}x exec \"$0\" error", END_PROGRAM});
  EXPECT_EQ(end.code, 2) << end.errors;
  for (const char* wrong : {"'0x'", "'1x'", "'2x'"})
    EXPECT_EQ(count(end.errors, wrong), 1) << end.errors;
}

TEST(wrong_options_of_a_job, are_reported_again_by_the_next_program_of_a_rank) {
  const distributed::outcome end =
      distributed::run({STARLING_COMMAND, "launch", "-n", "1", "--timeout", "60", "--", "sh", "-c",
                        "\"$0\" error; exec \"$0\" error", END_PROGRAM},
                       {{"STARLING_WORKERS", "many"}});
  EXPECT_EQ(end.code, 2) << end.errors;
  EXPECT_EQ(count(end.errors, "'many' is not a number"), 2) << end.errors;
}

TEST(wrong_options_of_a_job, leave_no_folder_behind) {
  const starling_test::scratch_folder folder;
  (void)distributed::run({STARLING_COMMAND, "launch", "-n", "2", "--", END_PROGRAM, "error"},
                         {{"STARLING_WORKERS", "many"}, {"XDG_RUNTIME_DIR", folder.path()}});
  EXPECT_TRUE(folder.is_empty());
}

TEST(messages_left_over_by_a_process, are_named_with_its_rank) {
  const distributed::outcome end = end_of("left");
  if (distributed::contains(end.errors, "built without UCX")) GTEST_SKIP() << end.errors;
  EXPECT_EQ(end.code, 0) << end.errors;
  EXPECT_CONTAINS(end.errors, "messages left over on rank 1, 1: node[1].letter(2)");
}

}  // namespace
