// SPDX-License-Identifier: Apache-2.0
// `starling launch --restarts`: jobs whose ranks are killed continue from their latest checkpoint.
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "command.hpp"
#include "fault_kit.hpp"
#include "job_output.hpp"
#include "support/scratch_folder.hpp"

namespace {

using distributed::expect_digest;
using distributed::outcome;
using distributed::restarts_of;
using distributed::run;
using starling_test::scratch_folder;

class restart : public testing::Test {
 protected:
  /// Runs `steps` steps of the program with `kills` random kills.
  outcome of(int ranks, int steps, int kills, int restarts, int seed = 1,
             const std::string& name = "run", const std::vector<std::string>& manner = {}) {
    std::vector<std::string> line = {STARLING_COMMAND,
                                     "launch",
                                     "-n",
                                     std::to_string(ranks),
                                     "--restarts",
                                     std::to_string(restarts),
                                     RESTART_PROGRAM,
                                     folder(name),
                                     std::to_string(steps),
                                     std::to_string(kills),
                                     std::to_string(seed),
                                     "--starling-workers=1"};
    line.insert(line.end(), manner.begin(), manner.end());
    return run(std::move(line));
  }
  [[nodiscard]] std::string folder(const std::string& name) const {
    return m_scratch.path() + "/" + name;
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
    expect_digest(end, undisturbed.output);
    // A late kill may miss the end of the job.
    EXPECT_GE(restarts_of(end), 1) << end.errors;
    EXPECT_LE(restarts_of(end), kills) << end.errors;
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
  EXPECT_EQ(restarts_of(end), 2) << end.errors;
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
  EXPECT_EQ(restarts_of(end), 0) << end.errors;
}

// --- elements that migrate after each step, by themselves or because a balancer decides so

using way = std::tuple<const char*, const char*>;  // manner and moment, see restart_program.cpp

class restart_of_migrating_elements : public restart, public testing::WithParamInterface<way> {
 protected:
  static constexpr int steps = 400;
  /// Returns the digest of elements that stay in place.
  std::string in_place() {
    static const std::string digest = [this] {
      const outcome end = of(3, steps, 0, 0, 1, "in_place");
      EXPECT_EQ(end.code, 0) << end.errors;
      EXPECT_TRUE(end.output.starts_with("digest ")) << end.output;
      return end.output;
    }();
    return digest;
  }
};
INSTANTIATE_TEST_SUITE_P(when, restart_of_migrating_elements,
                         testing::Combine(testing::Values("moves", "balances"),
                                          testing::Values("any", "departing", "packing", "reading",
                                                          "arriving", "storing", "loading")),
                         [](const auto& info) {
                           return std::string(std::get<0>(info.param)) + "_killed_at_" +
                                  std::get<1>(info.param);
                         });

TEST_P(restart_of_migrating_elements, gives_each_element_the_bits_that_it_has_without_migrations) {
  const auto shared_before = distributed::unused_shared_memory();
  const auto [manner, moment] = GetParam();
  constexpr int kills = 4;
  const outcome end = of(3, steps, kills, 100, 1, "killed", {manner, moment});
  expect_digest(end, in_place());
  if (moment == std::string("any")) {  // a late kill may miss the end of the job
    EXPECT_GE(restarts_of(end), 1) << end.errors;
    EXPECT_LE(restarts_of(end), kills) << end.errors;
  } else {
    EXPECT_EQ(restarts_of(end), kills) << end.errors;
  }
  EXPECT_TRUE(distributed::is_tidied_up(shared_before));
}

TEST_F(restart, leaves_migrating_elements_their_bits_on_more_and_on_fewer_ranks) {
  const outcome in_place = of(3, 202, 0, 0, 1, "in_place");
  ASSERT_EQ(in_place.code, 0) << in_place.errors;
  const outcome first = of(3, 202, 3, 100, 2, "run", {"moves", "packing"});
  expect_digest(first, in_place.output);
  for (const int ranks : {5, 2, 1}) {  // from step 200
    const outcome again =
        of(ranks, 202, 0, 0, 1, "run", {"moves", "any", "--starling-restart=latest"});
    expect_digest(again, in_place.output);
  }
}

}  // namespace
