// SPDX-License-Identifier: Apache-2.0
// `starling resize`, `starling launch --shrink`, and jobs that signals stop at a checkpoint.
#include <signal.h>
#include <unistd.h>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "command.hpp"
#include "job_output.hpp"
#include "support/scratch_folder.hpp"

namespace {

using distributed::command;
using distributed::contains;
using distributed::count;
using distributed::outcome;
using distributed::restarts_of;
using distributed::run;

std::string ready_on(int ranks) { return "ready on " + std::to_string(ranks) + " ranks:"; }

class resize : public testing::Test {
 protected:
  static constexpr const char* steps = "200";

  /// Returns the command line of the program; it stays where it is until `let_it_end`.
  [[nodiscard]] std::vector<std::string> program(const std::string& manner,
                                                 std::vector<std::string> options = {}) const {
    std::ofstream(file()).put('\n');
    std::vector<std::string> line = {
        RESTART_PROGRAM, m_scratch.path() + "/run", steps, "0", "0", manner,
        file(),          "--starling-workers=1"};
    line.insert(line.end(), options.begin(), options.end());
    return line;
  }
  [[nodiscard]] std::vector<std::string> job(std::vector<std::string> options,
                                             const std::vector<std::string>& what) const {
    std::vector<std::string> line = {STARLING_COMMAND, "launch"};
    line.insert(line.end(), options.begin(), options.end());
    line.insert(line.end(), what.begin(), what.end());
    return line;
  }
  /// From the next start of the ranks on, the program runs to its end.
  void let_it_end() const { std::filesystem::remove(file()); }
  [[nodiscard]] static std::vector<std::string> resize_line(const command& of, int ranks) {
    return {STARLING_COMMAND, "resize", "--job", std::to_string(of.pid()), std::to_string(ranks)};
  }
  /// Returns the processes of the ranks after the job has begun on `ranks` once more.
  static std::vector<pid_t> ranks_of(command& of, int ranks, int times) {
    if (!of.wait_for(ready_on(ranks), times)) return {};
    std::istringstream words(
        of.output().substr(of.output().rfind(ready_on(ranks)) + ready_on(ranks).size()));
    std::vector<pid_t> processes(static_cast<std::size_t>(ranks));
    for (pid_t& one : processes) words >> one;
    return processes;
  }
  /// Returns the digest that a run without disturbances prints.
  [[nodiscard]] std::string undisturbed() const {
    const outcome end =
        run({STARLING_COMMAND, "launch", "-n", "2", RESTART_PROGRAM,
             m_scratch.path() + "/undisturbed", steps, "0", "0", "--starling-workers=1"});
    EXPECT_EQ(end.code, 0) << end.errors;
    EXPECT_TRUE(end.output.starts_with("digest ")) << end.output;
    return end.output;
  }
  static void expect_end(const outcome& end, const std::string& digest) {
    EXPECT_EQ(end.code, 0) << end.errors;
    EXPECT_TRUE(end.output.ends_with(digest)) << end.output << end.errors;
    EXPECT_EQ(count(end.output, "digest "), 1) << end.output << end.errors;
  }
  /// Lets a job that has lost ranks end on another number of ranks.
  void end_after_losses(command& one, int ranks, const std::string& digest) {
    let_it_end();
    const outcome done = run(resize_line(one, ranks));
    ASSERT_EQ(done.code, 0) << done.errors;
    const outcome end = one.finish();
    expect_end(end, digest);
    EXPECT_GE(restarts_of(end), 1) << end.errors;
  }
  [[nodiscard]] std::string file() const { return m_scratch.path() + "/stay"; }

 private:
  starling_test::scratch_folder m_scratch;
};

TEST_F(resize, grows_and_shrinks_a_job_and_keeps_its_bits) {
  const std::string digest = undisturbed();
  command one(job({"-n", "2", "--restarts", "0"}, program("points")));
  ASSERT_TRUE(one.wait_for(ready_on(2), 1));
  for (const int ranks : {4, 1, 3}) {
    if (ranks == 3) let_it_end();
    const outcome done = run(resize_line(one, ranks));
    ASSERT_EQ(done.code, 0) << done.errors;
    EXPECT_CONTAINS(done.output, "the job continues on " + std::to_string(ranks) + " rank");
    EXPECT_CONTAINS(done.output, "from checkpoint ");
    ASSERT_TRUE(one.wait_for(ready_on(ranks), 1));
  }
  const outcome end = one.finish();
  expect_end(end, digest);
  EXPECT_EQ(count(end.errors, "as requested"), 3) << end.errors;
  EXPECT_CONTAINS(end.errors, "starting the job again on 4 ranks from checkpoint ");
}

TEST_F(resize, works_while_ranks_are_killed) {
  const std::string digest = undisturbed();
  command one(job({"-n", "2", "--restarts", "20"}, program("points")));
  std::vector<pid_t> processes = ranks_of(one, 2, 1);
  int round = 0;
  for (const int ranks : {4, 1, 3, 2, 4, 3}) {
    ASSERT_FALSE(processes.empty());
    const int times = count(one.output(), ready_on(ranks)) + 1;
    const pid_t loser = processes[static_cast<std::size_t>(round) % processes.size()];
    if (round % 2 == 0) ::kill(loser, SIGKILL);
    command client(resize_line(one, ranks));
    if (round % 2 != 0) {
      // Somewhere between the request and the start of the new ranks.
      for (int i = 0; i < round * 10'000; ++i) static_cast<void>(::getppid());
      ::kill(loser, SIGKILL);
    }
    const outcome done = client.finish();
    ASSERT_EQ(done.code, 0) << done.errors;
    processes = ranks_of(one, ranks, times);
    ++round;
  }
  end_after_losses(one, 1, digest);
}

TEST_F(resize, works_while_elements_migrate_and_all_ranks_but_one_are_killed) {
  const std::string digest = undisturbed();
  command one(job({"-n", "3", "--restarts", "20"}, program("points", {"moves", "any"})));
  std::vector<pid_t> processes = ranks_of(one, 3, 1);
  int round = 0, stays = 0;
  for (const int ranks : {3, 4, 4, 2, 3, 4}) {
    ASSERT_FALSE(processes.empty());
    // From then on elements migrate all the time.
    ASSERT_TRUE(one.wait_for("stays\n", stays + 1)) << one.finish().errors;
    stays = count(one.output(), "stays\n");
    const int times = count(one.output(), ready_on(ranks)) + 1;
    std::vector<std::string> line = resize_line(one, ranks);
    if (ranks == int(processes.size())) line = {"true"};
    command client(line);
    for (int i = 0; i < round * 3'000; ++i) static_cast<void>(::getppid());
    for (std::size_t i = 0; i < processes.size(); ++i)
      if (i != std::size_t(round) % processes.size()) ::kill(processes[i], SIGKILL);
    const outcome done = client.finish();
    ASSERT_EQ(done.code, 0) << done.errors;
    processes = ranks_of(one, ranks, times);
    ++round;
  }
  end_after_losses(one, 3, digest);
}

/// The checkpoint fails because a rank is lost, so the job is started again anyway.
TEST_F(resize, is_granted_if_a_rank_dies_in_the_checkpoint_for_it) {
  const std::string digest = undisturbed();
  command one(job({"-n", "2", "--restarts", "20"}, program("dying")));
  ASSERT_TRUE(one.wait_for(ready_on(2), 1));
  for (int i = 0; i < 6; ++i) {
    const int ranks = 3 + i % 2;
    if (i == 5) let_it_end();
    const outcome done = run(resize_line(one, ranks));
    ASSERT_EQ(done.code, 0) << done.errors;
    ASSERT_TRUE(one.wait_for(ready_on(ranks), 1 + i / 2));
  }
  const outcome end = one.finish();
  expect_end(end, digest);
  // Five, not six: if the first request comes before step 4, that checkpoint serves it and no rank
  // dies.
  EXPECT_CONTAINS(end.errors, "(restart 5 of 20)");
  EXPECT_FALSE(contains(end.errors, "nothing is runnable")) << end.errors;
}

TEST_F(resize, lets_a_job_continue_that_comes_to_no_checkpoint) {
  const std::string digest = undisturbed();
  command one(job({"-n", "2", "--restarts", "1"}, program("idle")));
  ASSERT_TRUE(one.wait_for(ready_on(2), 1));
  std::vector<std::string> line = resize_line(one, 3);
  line.insert(line.end(), {"--within", "0.1"});
  for (int i = 0; i < 2; ++i) {
    const outcome refused = run(line);
    EXPECT_EQ(refused.code, 1);
    EXPECT_CONTAINS(refused.errors, "it has come to no checkpoint within 0.1 s; it continues");
  }
  let_it_end();
  const outcome end = one.finish();
  expect_end(end, digest);
  EXPECT_EQ(count(end.output, "ready"), 1) << end.output;
  EXPECT_EQ(end.errors, "");
}

TEST_F(resize, of_a_job_that_ends_is_refused) {
  command one(job({"-n", "1", "--restarts", "1"}, program("idle")));
  ASSERT_TRUE(one.wait_for(ready_on(1), 1));
  command client(resize_line(one, 2));
  one.signal(SIGINT);
  EXPECT_EQ(one.finish().code, 128 + SIGINT);
  const outcome refused = client.finish();
  EXPECT_EQ(refused.code, 1);
  // The client may come too late.
  EXPECT_TRUE(contains(refused.errors, "the job has ended before it could be resized") ||
              contains(refused.errors, "it is ending") ||
              contains(refused.errors, "has ended before it answered") ||
              contains(refused.errors, "is no `starling launch`"))
      << refused.errors;
}

TEST_F(resize, names_the_reason_of_a_refusal) {
  const std::string own = std::to_string(::getpid());
  const outcome none = run({STARLING_COMMAND, "resize", "--job", own, "2"});
  EXPECT_EQ(none.code, 1);
  EXPECT_CONTAINS(none.errors, "process " + own + " is no `starling launch` of this user");
  command fixed(job({"-n", "2"}, program("points")));
  command plain(job({"-n", "2", "--restarts", "1"}, {RANK_PROGRAM, "wait"}));
  command whole(job({"-n", "2", "--restarts", "1"}, program("points")));
  ASSERT_TRUE(fixed.wait_for(ready_on(2), 1) && plain.wait_for("ready", 2) &&
              whole.wait_for(ready_on(2), 1));
  EXPECT_CONTAINS(run(resize_line(fixed, 3)).errors, "it was started without --restarts");
  EXPECT_CONTAINS(run(resize_line(plain, 3)).errors,
                  "its program has not opened starling::checkpoints");
  const outcome same = run(resize_line(whole, 2));
  EXPECT_EQ(same.code, 0) << same.errors;
  EXPECT_EQ(same.output, "the job has 2 ranks already\n");
  const outcome several = run({STARLING_COMMAND, "resize", "3"});
  EXPECT_EQ(several.code, 1);
  for (const command* one : {&fixed, &plain, &whole})
    EXPECT_CONTAINS(several.errors, "--job " + std::to_string(one->pid()));
  for (command* one : {&fixed, &plain, &whole}) {
    one->signal(SIGTERM);
    EXPECT_EQ(one->finish().code, 128 + SIGTERM);
  }
}

TEST(resize_command_line, is_checked) {
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{},
                                             {"0"},
                                             {"-1"},
                                             {"many"},
                                             {"1025"},
                                             {"2", "3"},
                                             {"--job", "0", "2"},
                                             {"--within", "-1", "2"},
                                             {"--within", "soon", "2"}}) {
    std::vector<std::string> line = {STARLING_COMMAND, "resize"};
    line.insert(line.end(), words.begin(), words.end());
    const outcome end = run(line);
    EXPECT_EQ(end.code, 2) << end.errors;
    EXPECT_CONTAINS(end.errors, "See `starling resize --help`.");
  }
  EXPECT_CONTAINS(run({STARLING_COMMAND, "resize", "--help"}).output, "--within");
  EXPECT_CONTAINS(run({STARLING_COMMAND, "--help"}).output, "resize");
}

// --- launch --shrink

TEST_F(resize, after_each_loss_with_shrink) {
  const std::string digest = undisturbed();
  command one(job({"-n", "3", "--restarts", "3", "--shrink"}, program("points")));
  for (const int ranks : {3, 2, 1}) {
    const std::vector<pid_t> processes = ranks_of(one, ranks, 1);
    ASSERT_EQ(processes.size(), static_cast<std::size_t>(ranks));
    if (ranks == 1) let_it_end();
    ::kill(processes.back(), SIGKILL);
  }
  ASSERT_TRUE(one.wait_for(ready_on(1), 2));
  const outcome end = one.finish();
  expect_end(end, digest);
  EXPECT_CONTAINS(end.errors, "the job continues on 2 ranks\n");
  EXPECT_EQ(count(end.errors, "the job continues on 1 rank\n"), 1) << end.errors;
  EXPECT_CONTAINS(end.errors, "(restart 3 of 3)");
}

TEST(launch_shrink, requires_restarts) {
  for (const std::vector<std::string>& more :
       std::vector<std::vector<std::string>>{{}, {"--restarts", "0"}}) {
    std::vector<std::string> line = {STARLING_COMMAND, "launch", "-n", "2", "--shrink"};
    line.insert(line.end(), more.begin(), more.end());
    line.emplace_back("true");
    const outcome end = run(line);
    EXPECT_EQ(end.code, 2);
    EXPECT_CONTAINS(end.errors, "--shrink requires --restarts K");
  }
}

// --- signals

class stop_by_signal : public resize, public testing::WithParamInterface<const char*> {
 protected:
  [[nodiscard]] int number() const { return GetParam() == std::string("USR1") ? SIGUSR1 : SIGTERM; }
  [[nodiscard]] std::string option() const {
    return std::string("--starling-stop-signal=") + GetParam();
  }
  /// Continues from the last checkpoint.
  [[nodiscard]] outcome continued() const {
    std::vector<std::string> line = program("points", {"--starling-restart=latest"});
    let_it_end();
    return run(job({"-n", "3"}, line));
  }
};
INSTANTIATE_TEST_SUITE_P(by, stop_by_signal, testing::Values("USR1", "TERM"),
                         [](const auto& info) { return std::string(info.param); });

TEST_P(stop_by_signal, ends_a_job_at_its_next_checkpoint) {
  const std::string digest = undisturbed();
  command one(job({"-n", "2", "--restarts", "3"}, program("points", {option()})));
  ASSERT_TRUE(one.wait_for(ready_on(2), 1));
  one.signal(number());
  const outcome end = one.finish();
  EXPECT_EQ(end.code, 75) << end.errors;
  EXPECT_CONTAINS(end.errors, ": the job ends at its next checkpoint\n");
  EXPECT_CONTAINS(end.errors, "starling launch: stopped at checkpoint ");
  EXPECT_EQ(count(end.errors, "as requested"), 1) << end.errors;
  EXPECT_FALSE(contains(end.output, "digest")) << end.output;
  expect_end(continued(), digest);
}

TEST_P(stop_by_signal, may_reach_the_ranks_instead_of_the_launcher) {
  command one(job({"-n", "2", "--restarts", "3"}, program("points", {option()})));
  const std::vector<pid_t> processes = ranks_of(one, 2, 1);
  ASSERT_EQ(processes.size(), 2U);
  // Rank 0 last: the other one ignores it.
  ::kill(processes[1], number());
  ::kill(processes[0], number());
  const outcome end = one.finish();
  EXPECT_EQ(end.code, 75) << end.errors;
  EXPECT_EQ(count(end.errors, "as requested"), 1) << end.errors;
}

TEST_P(stop_by_signal, ends_a_program_without_launcher) {
  const std::string digest = undisturbed();
  command one(program("points", {option()}));
  ASSERT_TRUE(one.wait_for(ready_on(1), 1));
  one.signal(number());
  const outcome end = one.finish();
  EXPECT_EQ(end.code, 75) << end.errors;
  EXPECT_CONTAINS(end.errors, "starling: stopped at checkpoint ");
  expect_end(continued(), digest);
}

TEST_F(resize, a_second_sigterm_ends_the_job_at_once) {
  std::vector<std::string> line =
      job({"-n", "2", "--restarts", "3"}, program("idle", {"--starling-stop-signal=TERM"}));
  // The messages of the launcher on stdout.
  line.insert(line.begin(), {"sh", "-c", "exec \"$@\" 2>&1", "sh"});
  command one(line);
  ASSERT_TRUE(one.wait_for(ready_on(2), 1));
  one.signal(SIGTERM);
  ASSERT_TRUE(one.wait_for("the job ends at its next checkpoint", 1));
  one.signal(SIGTERM);
  const outcome end = one.finish();
  EXPECT_EQ(end.code, 128 + SIGTERM) << end.output;
  EXPECT_FALSE(contains(end.output, "again")) << end.output;
}

TEST_F(resize, a_signal_is_remembered_after_the_loss_of_a_rank) {
  std::vector<std::string> line =
      job({"-n", "2", "--restarts", "3"}, program("idle", {"--starling-stop-signal=USR2"}));
  line.insert(line.begin(), {"sh", "-c", "exec \"$@\" 2>&1", "sh"});
  command one(line);
  const std::vector<pid_t> processes = ranks_of(one, 2, 1);
  ASSERT_EQ(processes.size(), 2U);
  one.signal(SIGUSR2);
  ASSERT_TRUE(one.wait_for("the job ends at its next checkpoint", 1));
  ::kill(processes[1], SIGKILL);
  ASSERT_TRUE(one.wait_for(ready_on(2), 2));
  let_it_end();
  const outcome end = one.finish();
  EXPECT_EQ(end.code, 75) << end.output;
  EXPECT_CONTAINS(end.output, "as requested");
}

}  // namespace
