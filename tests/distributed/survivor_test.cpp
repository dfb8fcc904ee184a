// SPDX-License-Identifier: Apache-2.0
// A rank is killed: the remaining ranks are notified which, and nothing hangs.
#include <memory>

#include <gtest/gtest.h>

#include "command.hpp"

namespace {

/// Starts three ranks; rank 1 kills itself, and the remaining ranks must report it.
void expect_reported(const char* program, const char* deed) {
  constexpr int ranks = 3;
  const starling_test::scratch_folder folder;
  std::vector<std::unique_ptr<distributed::command>> all;
  for (int rank = 0; rank < ranks; ++rank)
    all.push_back(std::make_unique<distributed::command>(std::vector<std::string>{
        program, folder.path(), std::to_string(rank), std::to_string(ranks), deed}));
  for (int rank = 0; rank < ranks; ++rank) {
    const distributed::outcome end = all[std::size_t(rank)]->finish();
    if (end.code == 77) GTEST_SKIP() << end.output;
    if (rank == 1) {
      EXPECT_EQ(end.signal, SIGKILL);
      continue;
    }
    EXPECT_EQ(end.code, 0) << "rank " << rank << ", signal " << end.signal << "\n"
                           << end.output << end.errors;
    EXPECT_NE(end.output.find("rank 1 (process "), std::string::npos) << end.output;
    EXPECT_NE(end.output.find(" has gone: "), std::string::npos) << end.output;
  }
}

class a_killed_rank : public testing::TestWithParam<const char*> {};
TEST_P(a_killed_rank, is_named_by_the_surviving_ranks) {
  expect_reported(SURVIVOR_PROGRAM, GetParam());
}
INSTANTIATE_TEST_SUITE_P(ranks, a_killed_rank, testing::Values("idle", "receiving", "sending"),
                         [](const auto& i) { return std::string(i.param); });

}  // namespace
