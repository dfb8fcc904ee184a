// SPDX-License-Identifier: Apache-2.0
// The same program under mpirun, whose ranks exchange addresses through PMIx.
#include <algorithm>
#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include "command.hpp"
#include "job_output.hpp"
#include "support/scratch_folder.hpp"

namespace {

using distributed::outcome;

class pmix : public testing::Test {
 protected:
  void SetUp() override {
    if (std::string(MPIRUN).empty()) {
      GTEST_SKIP() << "needs a build with PMIx (libpmix-dev) and mpirun (openmpi-bin)";
    }
  }

  static outcome mpirun_program(int ranks, const std::vector<std::string>& program,
                                distributed::variables environment = {}) {
    std::vector<std::string> line = {MPIRUN, "--oversubscribe", "-n", std::to_string(ranks)};
    line.insert(line.end(), program.begin(), program.end());
    environment.emplace_back("OMPI_ALLOW_RUN_AS_ROOT", "1");
    environment.emplace_back("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    return distributed::run(line, environment);
  }

  static outcome mpirun(int ranks, std::vector<std::string> deed,
                        const distributed::variables& environment = {}) {
    deed.insert(deed.begin(), RANK_PROGRAM);
    return mpirun_program(ranks, deed, environment);
  }
};

TEST_F(pmix, ranks_gather_empty_small_and_large_values_for_many_rounds) {
  for (const int ranks : {1, 2, 4}) {
    for (const auto& [size, rounds] :
         {std::pair{"0", "3"}, {"1", "50"}, {"65536", "3"}, {"1048576", "2"}}) {
      const outcome end = mpirun(ranks, {"gather", size, rounds});
      EXPECT_EQ(end.code, 0) << size << "\n" << end.errors;
      EXPECT_EQ(std::count(end.output.begin(), end.output.end(), '\n'), ranks) << end.output;
      for (int rank = 0; rank < ranks; ++rank) {
        const std::string place = std::to_string(rank) + " of " + std::to_string(ranks);
        EXPECT_NE(end.output.find("rank " + place + ", local " + place + ", PMIx\n"),
                  std::string::npos)
            << end.output;
      }
    }
  }
}

TEST_F(pmix, gives_one_process_several_bootstraps) {
  for (const char* deed : {"twice", "again", "child_exits"}) {
    const outcome end = mpirun(2, {deed});
    EXPECT_EQ(end.code, 0) << deed << "\n" << end.errors;
  }
}

TEST_F(pmix, a_rank_can_end_the_job) {
  const outcome end = mpirun(2, {"abort", "5", "1", "the density is negative"});
  EXPECT_EQ(end.code, 5) << end.errors;
  EXPECT_NE(end.errors.find("rank 1 ended the job: the density is negative\n"), std::string::npos)
      << end.errors;
}

TEST_F(pmix, refuses_to_gather_more_than_a_mebibyte_and_continues) {
  const outcome end = mpirun(2, {"too_much"});
  EXPECT_EQ(end.code, 0) << end.errors;
}

TEST_F(pmix, reports_a_rank_that_never_connects) {
  const outcome end = mpirun(2, {"missing", "1"}, {{"STARLING_BOOTSTRAP_TIMEOUT", "1"}});
  EXPECT_EQ(end.code, 33) << end.errors;
  EXPECT_NE(end.errors.find("some ranks did not come to an all_gather for 1 s"), std::string::npos)
      << end.errors;
}

/// mpirun starts no rank again: the command is repeated, here also on other numbers of ranks.
TEST_F(pmix, continues_a_job_from_its_latest_checkpoint_after_a_rank_was_killed) {
  const starling_test::scratch_folder scratch;
  const auto job = [&](int ranks, const std::string& folder, int kills, int seed,
                       const std::string& from = "latest") {
    return mpirun_program(ranks, {RESTART_PROGRAM, scratch.path() + "/" + folder, "200",
                                  std::to_string(kills), std::to_string(seed), "moves", "packing",
                                  "--starling-workers=1", "--starling-restart=" + from});
  };
  const outcome undisturbed = job(3, "undisturbed", 0, 0);
  ASSERT_EQ(undisturbed.code, 0) << undisturbed.errors;
  ASSERT_TRUE(undisturbed.output.starts_with("digest ")) << undisturbed.output;
  int seed = 1;
  for (const int ranks : {3, 4, 2}) {
    const outcome end = job(ranks, "killed", 1, seed++);
    EXPECT_NE(end.code, 0) << "no rank was killed";
    EXPECT_EQ(end.output, "") << end.output;
  }
  std::string newest;  // number of a checkpoint that has its manifest
  for (const auto& each : std::filesystem::directory_iterator(scratch.path() + "/killed"))
    if (std::filesystem::exists(each.path() / "manifest"))
      newest = std::max(newest, each.path().extension().string().substr(1));
  ASSERT_GT(newest, "000003") << "the restarts have continued older ones";
  const outcome end = job(3, "killed", 0, 0, std::to_string(std::stoi(newest)));
  distributed::expect_digest(end, undisturbed.output);
}

TEST_F(pmix, refuses_ranks_of_different_builds) {
  const outcome end = mpirun_program(2, {"sh", "-c",
                                         "if [ $PMIX_RANK = 1 ]; then exec " OTHER_BUILD
                                         " gather 1 1; fi; exec " RANK_PROGRAM " gather 1 1"});
  EXPECT_EQ(end.code, 33) << end.errors;
  EXPECT_NE(end.errors.find("the ranks do not run the same program"), std::string::npos)
      << end.errors;
}

}  // namespace
