// SPDX-License-Identifier: Apache-2.0
// Signals that the launcher receives, forwards or sends.
#include <sched.h>

#include <chrono>
#include <fstream>

#include <gtest/gtest.h>

#include "command.hpp"
#include "fault_kit.hpp"

namespace {

using distributed::command;
using distributed::contains;
using distributed::launch;
using distributed::outcome;
using distributed::run;

TEST(launch_signals, kills_ranks_that_ignore_sigterm) {
  for (const char* manner : {"stubborn", "forks"}) {
    command job(launch(2, {"wait", manner}));
    ASSERT_TRUE(job.wait_for("ready", manner == std::string("forks") ? 4 : 2));
    job.signal(SIGTERM);
    const outcome end = job.finish();  // returns when no process holds the output any more
    EXPECT_EQ(end.code, 128 + SIGTERM);
    EXPECT_CONTAINS(end.errors, "got signal 15 (Terminated); ended 2 ranks\n");
  }
}

TEST(launch_signals, ends_the_job_on_interrupt) {
  command job(launch(4, {"wait"}));
  ASSERT_TRUE(job.wait_for("ready", 4));
  job.signal(SIGINT);
  EXPECT_EQ(job.finish().code, 130);
}

TEST(launch_signals, does_not_wait_longer_when_interrupted_twice) {
  command job(launch(2, {"wait", "stubborn"}));
  ASSERT_TRUE(job.wait_for("ready", 2));
  job.signal(SIGINT);
  job.signal(SIGINT);
  EXPECT_EQ(job.finish().code, 130);
}

TEST(launch_signals, leaves_ignored_signals_ignored) {
  std::string line = "trap '' HUP; exec";
  for (const std::string& word : launch(2, {"wait"})) line += " " + word;
  command job({"sh", "-c", line});
  ASSERT_TRUE(job.wait_for("ready", 2));
  job.signal(SIGHUP);
  job.signal(SIGUSR1);
  EXPECT_TRUE(job.wait_for("usr1", 2));
  job.signal(SIGTERM);
  EXPECT_EQ(job.finish().code, 128 + SIGTERM);
}

/// Waits until the process is stopped (T) or has ended without being waited for (Z).
void await_state(pid_t process, char wanted) {
  for (char state = 0; state != wanted; ::sched_yield()) {
    std::ifstream about("/proc/" + std::to_string(process) + "/stat");
    std::string id, name;
    about >> id >> name >> state;
  }
}

TEST(launch_signals, names_the_killed_rank_among_those_that_ended_meanwhile) {
  command job({STARLING_COMMAND, "launch", "-n", "2", "sh", "-c",
               "echo rank $STARLING_LAUNCH_RANK: $$; kill -STOP $$; exit 3"});
  const auto process = [&job](const std::string& text) {
    return pid_t(distributed::number_behind(job, text));
  };
  const pid_t first = process("rank 0: "), second = process("rank 1: ");
  ASSERT_GT(first, 0);
  ASSERT_GT(second, 0);
  await_state(first, 'T');
  await_state(second, 'T');
  job.signal(SIGSTOP);
  ASSERT_TRUE(job.wait_until_stopped());
  ::kill(first, SIGCONT);
  ::kill(second, SIGKILL);
  await_state(first, 'Z');
  await_state(second, 'Z');
  job.signal(SIGCONT);
  const outcome end = job.finish();
  EXPECT_EQ(end.code, 128 + SIGKILL);
  EXPECT_CONTAINS(end.errors, "starling launch: rank 1 (pid ");
  EXPECT_CONTAINS(end.errors, "was killed by signal 9");
}

TEST(launch_signals, notices_ended_ranks_where_sigchld_was_ignored) {
  std::vector<std::string> line = {"env", "--ignore-signal=CHLD"};
  for (const std::string& word : launch(2, {"shows"})) line.push_back(word);
  if (run({"env", "--ignore-signal=CHLD", "true"}).code != 0) GTEST_SKIP() << "needs a newer env";
  const outcome end = run(line);
  EXPECT_EQ(end.code, 0) << end.errors;
  EXPECT_CONTAINS(end.output, "processors:");
  EXPECT_FALSE(contains(end.output, "ignored")) << end.output;
}

TEST(launch_signals, ends_a_rank_that_has_left_its_group) {
  command job(launch(2, {"wait", "moves"}));
  ASSERT_TRUE(job.wait_for("ready", 2));
  job.signal(SIGTERM);
  EXPECT_EQ(job.finish().code, 128 + SIGTERM);
}

TEST(launch_signals, does_not_wait_for_processes_that_have_left_their_group) {
  const auto begin = std::chrono::steady_clock::now();
  const outcome end = run(launch(2, {"leaves_group"}));
  EXPECT_EQ(end.code, 0) << end.errors;
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(15));
}

TEST(launch_signals, passes_user_signals_on) {
  command job(launch(2, {"wait"}));
  ASSERT_TRUE(job.wait_for("ready", 2));
  job.signal(SIGUSR1);
  EXPECT_TRUE(job.wait_for("usr1", 2));
  job.signal(SIGTERM);
  EXPECT_EQ(job.finish().code, 128 + SIGTERM);
}

TEST(launch_signals, stops_and_continues_with_its_ranks) {
  command job(launch(2, {"wait"}));
  ASSERT_TRUE(job.wait_for("ready", 2));
  job.signal(SIGTSTP);
  EXPECT_TRUE(job.wait_until_stopped());
  job.signal(SIGUSR1);
  job.signal(SIGCONT);
  EXPECT_TRUE(job.wait_for("usr1", 2));
  job.signal(SIGTERM);
  EXPECT_EQ(job.finish().code, 128 + SIGTERM);
}

}  // namespace
