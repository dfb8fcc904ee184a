// SPDX-License-Identifier: Apache-2.0
// A rank of chares is killed, stopped or slow: the remaining ranks report which, nothing hangs, and
// nothing is left behind.
#include <tuple>

#include <gtest/gtest.h>

#include "fault_kit.hpp"

namespace {

using distributed::contains;
using distributed::outcome;
using distributed::stray_ranks;

constexpr int ranks = 3;
constexpr int victim = 1;

/// A rank counts as failed after a silence of four heartbeats: 2 s.
const distributed::variables quick_hearts{{"STARLING_HEARTBEAT", "0.5"}};
/// Returns short heartbeats if the rank is to be stopped. For a killed rank it returns the default:
/// the end of the process must be noticed before heartbeats are missed.
distributed::variables hearts_for(int signal) {
  return signal == SIGSTOP ? quick_hearts : distributed::variables();
}

#define START_OR_SKIP(all)                          \
  if (!(all)[victim].wait_for("here", 1)) {         \
    const outcome end = (all)[victim].finish();     \
    if (end.code == 77) GTEST_SKIP() << end.output; \
    FAIL() << end.output << end.errors;             \
  }

void expect_reported(const outcome& end, int signal) {
  EXPECT_EQ(end.code, 10) << "signal " << end.signal << "\n" << end.output << end.errors;
  EXPECT_CONTAINS(end.output, "rank 1 (process ");
  EXPECT_CONTAINS(end.output, signal == SIGKILL ? " has gone: " : " gives no sign of life");
  EXPECT_CONTAINS(end.output, "its last sign of life was ");
}

class a_rank : public testing::TestWithParam<std::tuple<const char*, int>> {};

TEST_P(a_rank, that_fails_is_named_by_the_surviving_ranks) {
  const auto [scene, signal] = GetParam();
  const auto shared_before = distributed::unused_shared_memory();
  stray_ranks all(FAULT_PROGRAM, ranks, scene, hearts_for(signal));
  START_OR_SKIP(all);
  all[victim].signal(signal);
  for (const int survivor : {0, 2}) expect_reported(all[survivor].finish(), signal);
  all[victim].signal(SIGKILL);
  EXPECT_EQ(all[victim].finish().signal, SIGKILL);
  EXPECT_TRUE(distributed::is_tidied_up(shared_before));
}
constexpr auto deed_name = [](const auto& i) {
  return std::string(std::get<1>(i.param) == SIGKILL ? "killed" : "stopped") + "_while_" +
         std::get<0>(i.param);
};
INSTANTIATE_TEST_SUITE_P(of_three, a_rank,
                         testing::Combine(testing::Values("joining", "resting", "hopping", "adding",
                                                          "exchanging", "residing", "residing_far",
                                                          "hosting"),
                                          testing::Values(SIGKILL, SIGSTOP)),
                         deed_name);

class a_finished_rank : public testing::TestWithParam<int> {};
TEST_P(a_finished_rank, is_not_reported_as_failed) {
  stray_ranks all(FAULT_PROGRAM, ranks, "ending", hearts_for(GetParam()));
  START_OR_SKIP(all);
  all[victim].signal(GetParam());
  for (const int survivor : {0, 2}) {
    const outcome end = all[survivor].finish();
    EXPECT_EQ(end.code, 0) << end.output << end.errors;
  }
  all[victim].signal(SIGKILL);
  EXPECT_EQ(all[victim].finish().signal, SIGKILL);
}
INSTANTIATE_TEST_SUITE_P(when, a_finished_rank, testing::Values(SIGKILL, SIGSTOP),
                         [](const auto& i) {
                           return std::string(i.param == SIGKILL ? "killed" : "stopped");
                         });

class a_slow_rank : public testing::TestWithParam<const char*> {};
TEST_P(a_slow_rank, is_waited_for) {
  stray_ranks all(FAULT_PROGRAM, ranks, GetParam(), quick_hearts);
  START_OR_SKIP(all);
  distributed::slow_down([&] { all[victim].signal(SIGSTOP); },
                         [&] { all[victim].signal(SIGCONT); });
  all.let_ranks_finish();
  for (int rank = 0; rank < ranks; ++rank) {
    const outcome end = all[rank].finish();
    EXPECT_EQ(end.code, 0) << end.output << end.errors;
  }
}
INSTANTIATE_TEST_SUITE_P(of_three, a_slow_rank,
                         testing::Values("hopping", "adding", "residing", "residing_far",
                                         "hosting"),
                         [](const auto& i) { return std::string(i.param); });

/// The same under the launcher, whose folder must be empty in the end.
class a_launched_rank : public a_rank {};
TEST_P(a_launched_rank, that_fails_ends_the_job) {
  const auto [scene, signal] = GetParam();
  const auto shared_before = distributed::unused_shared_memory();
  const starling_test::scratch_folder folder, launchers;
  distributed::variables environment = hearts_for(signal);
  environment.emplace_back("XDG_RUNTIME_DIR", launchers.path());
  const bool only_time_tells = signal == SIGSTOP && std::string(scene) == "joining";
  if (only_time_tells) environment.emplace_back("STARLING_BOOTSTRAP_TIMEOUT", "5");
  distributed::command job({STARLING_COMMAND, "launch", "-n", std::to_string(ranks), "--grace", "0",
                            FAULT_PROGRAM, folder.path(), "-1", std::to_string(ranks), scene},
                           environment);
  const long id = distributed::number_behind(job, "here: ");
  if (id == 0) {
    const outcome end = job.finish();
    if (end.code == 77) GTEST_SKIP() << end.output;
    FAIL() << end.output << end.errors;
  }
  ::kill(pid_t(id), signal);
  const outcome end = job.finish();  // and of the output: no process is left that could write to it
  const std::string said = end.output + end.errors;
  EXPECT_CONTAINS(said, "rank 1");
  EXPECT_NE(end.code, 0) << said;
  if (signal == SIGKILL) {
    EXPECT_CONTAINS(end.errors, "was killed by signal 9");
  } else if (!only_time_tells) {
    EXPECT_CONTAINS(said, "gives no sign of life");
  }
  EXPECT_EQ(::kill(pid_t(id), 0), -1);
  EXPECT_TRUE(launchers.is_empty());
  EXPECT_TRUE(distributed::is_tidied_up(shared_before));
}
INSTANTIATE_TEST_SUITE_P(of_three, a_launched_rank,
                         testing::Combine(testing::Values("joining", "hopping", "exchanging",
                                                          "residing"),
                                          testing::Values(SIGKILL, SIGSTOP)),
                         deed_name);

class a_launcher : public testing::TestWithParam<const char*> {};
TEST_P(a_launcher, that_is_killed_ends_its_ranks_and_removes_their_files) {
  const auto shared_before = distributed::unused_shared_memory();
  const starling_test::scratch_folder folder, launchers;
  distributed::command job({STARLING_COMMAND, "launch", "-n", std::to_string(ranks), FAULT_PROGRAM,
                            folder.path(), "-1", std::to_string(ranks), GetParam()},
                           {{"XDG_RUNTIME_DIR", launchers.path()}});
  const long id = distributed::number_behind(job, "here: ");
  if (id == 0) {
    const outcome end = job.finish();
    if (end.code == 77) GTEST_SKIP() << end.output;
    FAIL() << end.output << end.errors;
  }
  job.signal(SIGKILL);
  EXPECT_EQ(job.finish().signal, SIGKILL);        // and no process can write to its output
  while (!launchers.is_empty()) ::sched_yield();  // the guard removes the folder last
  EXPECT_TRUE(distributed::is_tidied_up(shared_before));
}
INSTANTIATE_TEST_SUITE_P(of_three, a_launcher, testing::Values("joining", "hopping", "exchanging"),
                         [](const auto& i) { return std::string(i.param); });

TEST(job_end, removes_its_files_and_shared_memory) {
  const auto shared_before = distributed::unused_shared_memory();
  const starling_test::scratch_folder folder, launchers;
  const outcome end = distributed::run({STARLING_COMMAND, "launch", "-n", std::to_string(ranks),
                                        FAULT_PROGRAM, folder.path(), "-1", "0", "working"},
                                       {{"XDG_RUNTIME_DIR", launchers.path()}});
  if (end.code == 77) GTEST_SKIP() << end.output;
  EXPECT_EQ(end.code, 0) << end.output << end.errors;
  EXPECT_TRUE(launchers.is_empty());
  EXPECT_TRUE(distributed::is_tidied_up(shared_before));
}

TEST(a_computing_rank, is_not_reported_as_failed) {
  stray_ranks all(FAULT_PROGRAM, ranks, "computing", quick_hearts);
  START_OR_SKIP(all);
  ::sleep(5);  // more than twice the longest tolerated silence
  all.let_ranks_finish();
  for (int rank = 0; rank < ranks; ++rank) {
    const outcome end = all[rank].finish();
    EXPECT_EQ(end.code, 0) << end.output << end.errors;
  }
}

TEST(a_stopped_rank, may_be_debugged_without_heartbeats) {
  stray_ranks all(FAULT_PROGRAM, ranks, "hopping", {{"STARLING_HEARTBEAT", "0"}});
  START_OR_SKIP(all);
  all[victim].signal(SIGSTOP);
  ::sleep(2);
  all[victim].signal(SIGCONT);
  all.let_ranks_finish();
  for (int rank = 0; rank < ranks; ++rank) EXPECT_EQ(all[rank].finish().code, 0);
}

}  // namespace
