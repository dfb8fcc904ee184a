// SPDX-License-Identifier: Apache-2.0
// `starling launch --restarts`: jobs whose ranks are killed continue from their latest checkpoint.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "command.hpp"
#include "support/scratch_folder.hpp"

namespace {

using distributed::outcome;
using distributed::run;
using starling_test::scratch_folder;

class restart : public testing::Test {
 protected:
  /// Runs `steps` steps of the program with `kills` random kills.
  outcome of(int ranks, int steps, int kills, int restarts, int seed = 1,
             const std::string& name = "run") {
    return run({STARLING_COMMAND, "launch", "-n", std::to_string(ranks), "--restarts",
                std::to_string(restarts), RESTART_PROGRAM, folder(name), std::to_string(steps),
                std::to_string(kills), std::to_string(seed), "--starling-workers=1"});
  }
  [[nodiscard]] std::string folder(const std::string& name) const {
    return m_scratch.path() + "/" + name;
  }
  static int restarts_in(const std::string& errors) {
    int count = 0;
    for (std::size_t at = 0; (at = errors.find("starting the ranks again", at)) != errors.npos;
         ++at)
      ++count;
    return count;
  }

 private:
  scratch_folder m_scratch;
};

TEST_F(restart, gives_the_same_bits_after_kills_at_random_moments) {
  const outcome undisturbed = of(3, 400, 0, 0, 1, "undisturbed");
  ASSERT_EQ(undisturbed.code, 0) << undisturbed.errors;
  ASSERT_TRUE(undisturbed.output.starts_with("digest "));
  constexpr int kills = 8;
  for (const int seed : {1, 2}) {
    const outcome end = of(3, 400, kills, 100, seed, "killed" + std::to_string(seed));
    EXPECT_EQ(end.code, 0) << end.errors;
    // A rank may be killed after the digest has been printed; then it is printed again.
    std::string digests = end.output;
    while (digests.size() > undisturbed.output.size() && digests.starts_with(undisturbed.output))
      digests.erase(0, undisturbed.output.size());
    EXPECT_EQ(digests, undisturbed.output) << end.output << end.errors;
    // A late kill may miss the end of the job.
    EXPECT_GE(restarts_in(end.errors), 1) << end.errors;
    EXPECT_LE(restarts_in(end.errors), kills) << end.errors;
  }
}

/// A rank that is killed while it is being connected makes UCX print an error in another rank.
TEST_F(restart, has_messages_of_the_transport_on_stderr_only) {
  const outcome end =
      run({"/usr/bin/env", "UCX_LOG_LEVEL=info", STARLING_COMMAND, "launch", "-n", "2",
           RESTART_PROGRAM, folder("logged"), "20", "0", "1", "--starling-workers=1"});
  EXPECT_EQ(end.code, 0) << end.errors;
  EXPECT_TRUE(end.output.starts_with("digest ")) << end.output;
  EXPECT_EQ(end.output.find('\n'), end.output.size() - 1) << end.output;
  EXPECT_NE(end.errors.find("UCX INFO: "), std::string::npos) << end.errors;
}

TEST_F(restart, ends_when_no_restart_is_left) {
  const outcome end = of(2, 1'000'000, 1000, 2);
  EXPECT_EQ(end.code, 128 + SIGKILL) << end.errors;
  EXPECT_EQ(restarts_in(end.errors), 2) << end.errors;
  EXPECT_NE(end.errors.find("(restart 2 of 2)"), std::string::npos) << end.errors;
}

TEST_F(restart, continues_no_older_run) {
  const outcome older = of(2, 100, 0, 0, 1, "same");
  ASSERT_EQ(older.code, 0) << older.errors;
  const outcome undisturbed = of(2, 300, 0, 0, 1, "other");
  // The kills come so early that the first ones may precede the first checkpoint of this run.
  const outcome end = of(2, 300, 6, 100, 3, "same");
  EXPECT_EQ(end.code, 0) << end.errors;
  EXPECT_TRUE(end.output.ends_with(undisturbed.output)) << end.output << end.errors;
}

TEST_F(restart, follows_no_error_of_the_program) {
  const outcome end = run({STARLING_COMMAND, "launch", "-n", "2", "--restarts", "5", "--",
                           RESTART_PROGRAM, "too few arguments"});
  EXPECT_EQ(end.code, 3) << end.errors;
  EXPECT_EQ(restarts_in(end.errors), 0) << end.errors;
}

}  // namespace
