// SPDX-License-Identifier: Apache-2.0
// Jobs whose ranks have folders of their own, as on several hosts, and lose them together with the
// rank: with two copies of each share they continue from their latest checkpoint.
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "command.hpp"
#include "job_output.hpp"
#include "support/scratch_folder.hpp"

namespace {

using distributed::count;
using distributed::expect_digest;
using distributed::outcome;
using distributed::restarts_of;
using distributed::run;

class partner : public testing::Test {
 protected:
  using words = std::vector<std::string>;
  /// Runs the program on `ranks` ranks, with `kills` random kills after which the folders of `lost`
  /// ranks are lost.
  outcome of(int ranks, int steps, int kills, int seed, int lost, const std::string& name,
             const words& options = {"--starling-checkpoint-copies=2"}) {
    words line = {STARLING_COMMAND,
                  "launch",
                  "-n",
                  std::to_string(ranks),
                  "--restarts",
                  "100",
                  RESTART_PROGRAM,
                  path(name) + "/{rank}",
                  std::to_string(steps),
                  std::to_string(kills),
                  std::to_string(seed),
                  "lose",
                  std::to_string(lost),
                  "--starling-workers=1"};
    line.insert(line.end(), options.begin(), options.end());
    return run(line);
  }
  /// Returns the digest of a run in one folder that nothing disturbs.
  std::string undisturbed(int steps) {
    const outcome end = run({STARLING_COMMAND, "launch", "-n", "3", RESTART_PROGRAM, path("whole"),
                             std::to_string(steps), "0", "0", "--starling-workers=1"});
    EXPECT_EQ(end.code, 0) << end.errors;
    EXPECT_TRUE(end.output.starts_with("digest ")) << end.output;
    return end.output;
  }
  [[nodiscard]] std::string path(const std::string& name) const {
    return m_scratch.path() + "/" + name;
  }
  void lose(const std::string& name, int rank) const {
    std::filesystem::remove_all(path(name) + "/" + std::to_string(rank));
  }

 private:
  starling_test::scratch_folder m_scratch;
};

TEST_F(partner, keeps_the_copy_from_which_a_job_continues_after_a_rank_and_its_folder_are_lost) {
  const std::string digest = undisturbed(400);
  for (const int seed : {1, 2, 3}) {
    const outcome end = of(4, 400, 8, seed, 1, "lost" + std::to_string(seed));
    expect_digest(end, digest);
    EXPECT_GE(restarts_of(end), 1) << end.errors;
    EXPECT_EQ(count(end.errors, "it begins as at its first start"), 0) << end.errors;
  }
}

TEST_F(partner, keeps_the_copies_of_elements_that_migrate_when_their_rank_and_its_folder_are_lost) {
  const std::string digest = undisturbed(400);
  using way = std::pair<const char*, const char*>;
  for (const auto& [manner, moment] : {way("moves", "packing"), way("balances", "reading"),
                                       way("balances", "packing"), way("moves", "storing")}) {
    const outcome end = of(4, 400, 5, 1, 1, std::string(manner) + moment,
                           {"--starling-checkpoint-copies=2", manner, moment});
    expect_digest(end, digest);
    EXPECT_EQ(restarts_of(end), 5) << end.errors;
    EXPECT_EQ(count(end.errors, "it begins as at its first start"), 0) << end.errors;
  }
}

TEST_F(partner, whose_folder_is_lost_too_costs_steps_but_no_bit) {
  const std::string digest = undisturbed(400);
  const outcome end = of(4, 400, 6, 2, 2, "both");
  expect_digest(end, digest);
  EXPECT_GE(restarts_of(end), 1) << end.errors;
  // Where checkpoints had been taken, it says why they are not used.
  EXPECT_GE(count(end.errors, " is gone: it is not in '"),
            count(end.errors, "it begins as at its first start"))
      << end.errors;
}

TEST_F(partner, keeps_copies_for_other_numbers_of_ranks) {
  const std::string digest = undisturbed(203);  // the last checkpoint is at 200
  expect_digest(of(4, 203, 0, 1, 1, "run"), digest);
  const words latest = {"--starling-checkpoint-copies=2", "--starling-restart=latest"};
  lose("run", 2);
  for (const int ranks : {2, 5}) {
    const outcome end = of(ranks, 203, 0, 1, 1, "run", latest);
    expect_digest(end, digest);
    EXPECT_EQ(end.errors, "");
  }
  lose("run", 0);
  expect_digest(of(3, 203, 0, 1, 1, "run", latest), digest);
  lose("run", 0);
  lose("run", 1);  // share 0 was in the folders of the ranks 0 and 1
  const outcome end = of(2, 203, 0, 1, 1, "run", latest);
  EXPECT_NE(end.code, 0) << end.output;
  EXPECT_GE(count(end.errors, "share.000000 is gone: it is not in '"), 1) << end.errors;
}

TEST_F(partner, whose_folder_is_lost_too_leaves_the_checkpoints_in_the_persistent_folder) {
  const std::string digest = undisturbed(400);
  words options = {"--starling-checkpoint-copies=2",
                   "--starling-checkpoint-persistent=" + path("disk"),
                   "--starling-checkpoint-persistent-every=3"};
  const outcome end = of(4, 400, 6, 2, 2, "both", options);
  expect_digest(end, digest);
  EXPECT_GE(restarts_of(end), 1) << end.errors;
  for (const int rank : {0, 1, 2, 3}) lose("both", rank);
  options.emplace_back("--starling-restart=latest");
  const outcome again = of(3, 400, 0, 1, 1, "both", options);
  expect_digest(again, digest);
  EXPECT_EQ(again.errors, "") << "the persistent checkpoint is whole";
}

TEST_F(partner, is_not_needed_while_all_folders_are_there) {
  const std::string digest = undisturbed(300);
  const outcome end = of(3, 300, 6, 4, 0, "kept", {"--starling-checkpoint-copies=1"});
  expect_digest(end, digest);
  EXPECT_EQ(count(end.errors, "it begins as at its first start"), 0) << end.errors;
}

}  // namespace
