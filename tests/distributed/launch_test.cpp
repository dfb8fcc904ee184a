// SPDX-License-Identifier: Apache-2.0
// Behaviour of `starling launch` that users rely on.
#include <algorithm>
#include <filesystem>
#include <set>
#include <sstream>

#include <gtest/gtest.h>

#include "command.hpp"
#include "launch/cores.hpp"
#include "support/sanitizers.hpp"

namespace {

using distributed::command;
using distributed::contains;
using distributed::launch;
using distributed::outcome;
using distributed::run;
using starling_test::scratch_folder;
using testing::Test;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream from(text);
  for (std::string line; std::getline(from, line);) lines.push_back(line);
  return lines;
}

class launch_of : public testing::TestWithParam<int> {};

TEST_P(launch_of, ranks_gather_empty_small_and_large_values_for_many_rounds) {
  const int ranks = GetParam();
  for (const auto& [size, rounds] :
       {std::pair{"0", "5"}, {"1", "200"}, {"65536", "9"}, {"1048576", "2"}}) {
    const outcome end = run(launch(ranks, {"gather", size, rounds}));
    EXPECT_EQ(end.code, 0) << size << "\n" << end.errors;
    std::vector<std::string> said = lines_of(end.output);
    std::sort(said.begin(), said.end());
    ASSERT_EQ(said.size(), static_cast<std::size_t>(ranks));
    for (int rank = 0; rank < ranks; ++rank) {
      const std::string place = std::to_string(rank) + " of " + std::to_string(ranks);
      EXPECT_EQ(said[static_cast<std::size_t>(rank)],
                "rank " + place + ", local " + place + ", starling launch");
    }
  }
}

INSTANTIATE_TEST_SUITE_P(sizes, launch_of, testing::Values(1, 2, 4, 8));

TEST(launch, refuses_to_gather_more_than_a_mebibyte_and_continues) {
  const outcome end = run(launch(2, {"too_much"}));
  EXPECT_EQ(end.code, 0) << end.errors;
}

TEST(launch, gives_one_process_several_bootstraps) {
  for (const char* deed : {"twice", "again", "child_exits"}) {
    const outcome end = run(launch(3, {deed}));
    EXPECT_EQ(end.code, 0) << end.errors;
  }
}

TEST(launch, exits_with_the_code_of_the_rank_that_failed_and_ends_the_remaining_ranks) {
  const outcome end = run(launch(4, {"exit", "7", "2"}, {"--grace", "0"}));
  EXPECT_EQ(end.code, 7);
  EXPECT_CONTAINS(end.errors, "starling launch: rank 2 (pid ");
  EXPECT_CONTAINS(end.errors, ") exited with code 7; ended the other 3 ranks\n");
  EXPECT_EQ(lines_of(end.errors).size(), 1U) << end.errors;
}

TEST(launch, names_the_signal_that_killed_a_rank) {
  const outcome end = run(launch(2, {"die", "9", "1"}, {"--grace", "0"}));
  EXPECT_EQ(end.code, 128 + 9);
  EXPECT_CONTAINS(end.errors, "starling launch: rank 1 (pid ");
  EXPECT_CONTAINS(end.errors, ") was killed by signal 9 (Killed); ended the other rank\n");
}

TEST(launch, names_the_rank_that_died_and_not_the_ranks_that_waited_for_it) {
  for (int trial = 0; trial < 5; ++trial) {
    const outcome end = run(launch(3, {"crash", "1"}, {"--grace", "0"}));
    EXPECT_EQ(end.code, 128 + 9) << end.errors;
    EXPECT_CONTAINS(end.errors, "starling launch: rank 1 (pid ");
  }
}

TEST(launch, prints_the_reason_why_a_rank_ended_the_job) {
  const outcome end = run(launch(3, {"abort", "5", "1", "the density is negative"}));
  EXPECT_EQ(end.code, 5);
  EXPECT_EQ(end.errors, "starling launch: rank 1 ended the job: the density is negative\n");
}

TEST(launch, ends_the_job_when_it_can_open_no_more_files) {
  if (starling_test::has_address_sanitizer) GTEST_SKIP() << "the sanitizers open files themselves";
  std::string line = "ulimit -n 12; exec";
  for (const std::string& word : launch(8, {"wait"})) line += " " + word;
  const outcome end = run({"sh", "-c", line});
  EXPECT_EQ(end.code, 1);
  EXPECT_CONTAINS(end.errors, "no more ranks can connect: Too many open files");
  EXPECT_CONTAINS(end.errors, "ulimit -n");
}

TEST(launch, lets_a_rank_end_the_job_after_a_timeout) {
  const outcome end = run(launch(3, {"gives_up", "6", "1"}), {{"STARLING_BOOTSTRAP_TIMEOUT", "5"}});
  EXPECT_EQ(end.code, 6);
  EXPECT_CONTAINS(end.errors, " ended the job: gave up\n");
}

TEST(launch, receives_an_abort_before_the_end_of_its_rank) {
  for (int trial = 0; trial < 20; ++trial) {
    EXPECT_EQ(run(launch(2, {"abort_and_exit", "5", "1"})).code, 5);
  }
}

TEST(launch, leaves_no_process_and_no_folder_when_it_is_killed) {
  for (const char* manner : {"plain", "forks"}) {
    const scratch_folder folder;
    const bool forks = manner == std::string("forks");
    command job(forks ? launch(2, {"wait", manner}) : launch(2, {"wait"}),
                {{"XDG_RUNTIME_DIR", folder.path()}});
    ASSERT_TRUE(job.wait_for("ready", forks ? 4 : 2));
    EXPECT_FALSE(folder.is_empty());
    job.signal(SIGKILL);
    // The output ends when the last process that could write to it has ended.
    const outcome end = job.finish();
    EXPECT_EQ(end.signal, SIGKILL);
    // The guard holds no output; it removes the folder last.
    while (!folder.is_empty()) ::sched_yield();
  }
}

TEST(launch, leaves_no_folder_behind) {
  const scratch_folder folder;
  for (const auto& deed : std::vector<std::vector<std::string>>{
           {"gather", "1", "1"}, {"exit", "1", "0"}, {"die", "9", "0"}, {"abort", "2", "1", "x"}}) {
    (void)run(launch(2, deed, {"--grace", "0"}), {{"XDG_RUNTIME_DIR", folder.path()}});
    EXPECT_TRUE(folder.is_empty()) << deed[0];
  }
}

/// Starts two ranks that make a file in UCX's folder, print "here FOLDER" and do `deed`.
std::vector<std::string> launch_with_file_of_ucx(const std::string& deed) {
  const std::string makes_file =
      R"(: > "$UCX_POSIX_DIR/ucx_shm_posix_$$"; echo "here $UCX_POSIX_DIR"; )";
  return {STARLING_COMMAND, "launch", "-n", "2", "sh", "-c", makes_file + deed};
}
/// Returns UCX's folder as the first rank has printed it.
std::string folder_of_ucx(const command& job) {
  const std::string line = lines_of(job.output()).front();
  return line.substr(std::string("here ").size());
}

TEST(launch, removes_the_shared_memory_of_killed_ranks) {
  command job(launch_with_file_of_ucx("kill -9 $$"));
  const outcome end = job.finish();
  ASSERT_TRUE(contains(end.output, "here /dev/shm/starling-")) << end.output << end.errors;
  EXPECT_FALSE(std::filesystem::exists(folder_of_ucx(job)));
}

TEST(launch, leaves_no_shared_memory_when_it_is_killed) {
  const scratch_folder folder;
  command job(launch_with_file_of_ucx("exec sleep 1000"), {{"XDG_RUNTIME_DIR", folder.path()}});
  ASSERT_TRUE(job.wait_for("here /dev/shm/starling-", 2));
  EXPECT_FALSE(std::filesystem::is_empty(folder_of_ucx(job)));
  job.signal(SIGKILL);
  EXPECT_EQ(job.finish().signal, SIGKILL);
  while (!folder.is_empty()) ::sched_yield();  // the guard removes this folder last
  EXPECT_FALSE(std::filesystem::exists(folder_of_ucx(job)));
}

TEST(launch, leaves_the_folder_of_ucx_to_the_user) {
  const scratch_folder folder;
  command job(launch_with_file_of_ucx("exit 0"), {{"UCX_POSIX_DIR", folder.path()}});
  const outcome end = job.finish();
  EXPECT_EQ(end.code, 0) << end.errors;
  EXPECT_EQ(folder_of_ucx(job), folder.path());
  EXPECT_FALSE(folder.is_empty());
}

TEST(launch, uses_a_writable_folder) {
  const scratch_folder folder;
  const outcome end = run(launch(2, {"shows", "STARLING_LAUNCH_SOCKET"}),
                          {{"XDG_RUNTIME_DIR", "/nonexistent"}, {"TMPDIR", folder.path()}});
  EXPECT_EQ(end.code, 0) << end.errors;
  EXPECT_CONTAINS(end.output, "STARLING_LAUNCH_SOCKET=" + folder.path() + "/starling-");
}

TEST(launch, ignores_folders_with_relative_paths) {
  const scratch_folder folder;
  const outcome end = run(launch(2, {"shows", "STARLING_LAUNCH_SOCKET"}),
                          {{"XDG_RUNTIME_DIR", "."}, {"TMPDIR", folder.path()}});
  EXPECT_EQ(end.code, 0) << end.errors;
  EXPECT_CONTAINS(end.output, "STARLING_LAUNCH_SOCKET=" + folder.path() + "/starling-");
}

TEST(launch, ends_processes_that_a_rank_left_running) {
  const outcome end = run(launch(2, {"leaves_child"}));
  EXPECT_EQ(end.code, 0) << end.errors;
}

TEST(launch, notifies_ranks_of_an_ended_rank) {
  const outcome end = run(launch(3, {"leaves", "1"}));
  EXPECT_EQ(end.code, 33);
  EXPECT_CONTAINS(end.errors, "under starling launch: rank 1 has ended\n");
}

TEST(launch, reports_a_rank_that_never_connects) {
  const outcome end = run(launch(2, {"missing", "1"}), {{"STARLING_BOOTSTRAP_TIMEOUT", "3"}});
  EXPECT_EQ(end.code, 33);
  EXPECT_CONTAINS(end.errors,
                  "nothing came for 3 s (STARLING_BOOTSTRAP_TIMEOUT): rank 1 never connected");
}

TEST(launch, labels_whole_lines) {
  const outcome end = run(launch(4, {"lines", "200"}, {"--label"}));
  EXPECT_EQ(end.code, 0) << end.errors;
  std::vector<int> next(4);
  const std::vector<std::string> said = lines_of(end.output);
  EXPECT_EQ(said.size(), 4U * 201);
  for (const std::string& line : said) {
    const auto rank = static_cast<std::size_t>(line.at(1) - '0');
    const std::string label = "[" + std::to_string(rank) + "] ";
    const int number = next.at(rank)++;
    EXPECT_EQ(line, number == 200
                        ? label + "end"
                        : label + "<" + std::to_string(rank) + "." + std::to_string(number) + ">");
  }
  for (const std::string& line : lines_of(end.errors)) {
    EXPECT_EQ(line, std::string("[") + line.at(1) + "] (" + line.at(1) + ")");
  }
  EXPECT_EQ(lines_of(end.errors).size(), 4U * 13);
}

TEST(launch, keeps_lines_whole_where_both_outputs_are_one) {
  std::string line;
  for (const std::string& word : launch(4, {"lines", "500"}, {"--label"})) line += word + " ";
  const outcome end = run({"sh", "-c", line + "2>&1"});
  EXPECT_EQ(end.code, 0);
  for (const std::string& said : lines_of(end.output)) {
    EXPECT_EQ(said[0], '[') << said;
    EXPECT_TRUE(said.ends_with("end") || said.ends_with(">") || said.ends_with(")")) << said;
  }
}

TEST(launch, passes_environment_signals_and_input_on) {
  const outcome end =
      run(launch(2, {"shows", "CUDA_VISIBLE_DEVICES", "STARLING_LAUNCH_SIZE"}),
          {{"CUDA_VISIBLE_DEVICES", "3,1"}, {"STARLING_LAUNCH_SIZE", "77"}}, "to rank 0");
  EXPECT_EQ(end.code, 0) << end.errors;
  EXPECT_CONTAINS(end.output,
                  "; CUDA_VISIBLE_DEVICES=3,1; STARLING_LAUNCH_SIZE=2; input 'to rank 0'\n");
  EXPECT_CONTAINS(end.output, "; CUDA_VISIBLE_DEVICES=3,1; STARLING_LAUNCH_SIZE=2; input ''\n");
  EXPECT_FALSE(contains(end.output, "blocked")) << end.output;
  EXPECT_FALSE(contains(end.output, "ignored")) << end.output;
}

TEST(launch, binds_ranks_to_cores_or_prints_the_reason) {
  const outcome one = run(launch(1, {"shows"}, {"--bind", "core"}));
  EXPECT_EQ(one.code, 0) << one.errors;
  EXPECT_EQ(one.errors, "");
  const outcome many = run(launch(3, {"shows"}, {"--bind", "core"}), {}, "");
  EXPECT_EQ(many.code, 0);
  cpu_set_t usable;
  ::sched_getaffinity(0, sizeof usable, &usable);
  if (CPU_COUNT(&usable) < 3) {
    EXPECT_CONTAINS(many.errors, "--bind core: 3 ranks have only ");
  }
}

TEST(launch, binds_ranks_to_different_cores) {
  if (starling::launch::usable_cores().size() < 2) GTEST_SKIP() << "needs two cores";
  const outcome end = run(launch(2, {"shows"}, {"--bind", "core"}));
  EXPECT_EQ(end.code, 0) << end.errors;
  EXPECT_EQ(end.errors, "");
  std::set<int> taken;
  int ranks = 0;
  for (const std::string& line : lines_of(end.output)) {
    const std::string start = "processors:";
    std::istringstream numbers(line.substr(line.find(start) + start.size()));
    int of_rank = 0;
    for (int processor = 0; numbers >> processor; ++of_rank) {
      EXPECT_TRUE(taken.insert(processor).second) << end.output;
    }
    EXPECT_GT(of_rank, 0) << line;
    ++ranks;
  }
  EXPECT_EQ(ranks, 2) << end.output;
}

TEST(launch, ends_a_job_that_takes_too_long) {
  const outcome end = run(launch(2, {"wait"}, {"--timeout", "0.3"}));
  EXPECT_EQ(end.code, 124);
  EXPECT_CONTAINS(end.errors, "starling launch: the 0.3 s of --timeout are over; ended 2 ranks\n");
  EXPECT_FALSE(contains(end.errors, "refused")) << end.errors;
}

TEST(launch, refuses_ranks_of_different_builds) {
  const std::string choose = "if [ $STARLING_LAUNCH_RANK = 1 ]; then exec " OTHER_BUILD
                             " gather 1 1; fi; exec " RANK_PROGRAM " gather 1 1";
  const outcome end = run({STARLING_COMMAND, "launch", "-n", "3", "sh", "-c", choose});
  EXPECT_EQ(end.code, 33);
  EXPECT_CONTAINS(end.errors, "the ranks do not run the same program:\n  rank 0: Starling ");
  EXPECT_CONTAINS(end.errors, "\n  rank 1: Starling ");
  EXPECT_FALSE(contains(end.errors, "rank 2: ")) << end.errors;
}

TEST(launch, refuses_a_rank_that_is_started_by_a_rank) {
  const outcome end = run({STARLING_COMMAND, "launch", "-n", "1", "sh", "-c",
                           RANK_PROGRAM " gather 1 1; " RANK_PROGRAM " gather 1 1"});
  EXPECT_EQ(end.code, 33);
  EXPECT_CONTAINS(end.errors, "starling launch: refused process ");
  EXPECT_CONTAINS(end.errors, "rank 0 has connected before");
}

TEST(launch, may_be_started_by_a_rank) {
  const outcome end = run({STARLING_COMMAND, "launch", "-n", "1", STARLING_COMMAND, "launch", "-n",
                           "2", RANK_PROGRAM, "gather", "1", "1"});
  EXPECT_EQ(end.code, 0) << end.errors;
  EXPECT_EQ(lines_of(end.output).size(), 2U);
}

TEST(launch, names_cause_and_remedy_of_wrong_command_lines) {
  const auto line = [](std::vector<std::string> words) {
    words.insert(words.begin(), {STARLING_COMMAND, "launch"});
    return run(words);
  };
  outcome end = line({"-n", "2", "/nonexistent/program"});
  EXPECT_EQ(end.code, 127);
  EXPECT_CONTAINS(end.errors,
                  "cannot run '/nonexistent/program': No such file or directory; name ");
  end = line({"-n", "2", "/"});
  EXPECT_EQ(end.code, 126);
  end = line({"-n", "2"});
  EXPECT_EQ(end.code, 2);
  EXPECT_CONTAINS(end.errors, "no program is named");
  end = line({RANK_PROGRAM});
  EXPECT_EQ(end.code, 2);
  EXPECT_CONTAINS(end.errors, "--ranks is required");
  end = line({"-n", "0", RANK_PROGRAM});
  EXPECT_EQ(end.code, 2);
  end = line({"-n", "2", "--labels", RANK_PROGRAM});
  EXPECT_EQ(end.code, 2);
  EXPECT_CONTAINS(end.errors, "there is no option --labels");
  end = line({"--help"});
  EXPECT_EQ(end.code, 0);
  EXPECT_CONTAINS(end.output, "starling launch -n 4 ./jacobi3d");
}

TEST(launch, leaves_options_of_the_program_alone) {
  for (const bool dashes : {false, true}) {
    std::vector<std::string> line = {STARLING_COMMAND, "launch", "-n", "1"};
    if (dashes) line.emplace_back("--");
    line.insert(line.end(), {"echo", "-n", "--label", "--help", "--", "x y"});
    const outcome end = run(line);
    EXPECT_EQ(end.code, 0) << end.errors;
    EXPECT_EQ(end.output, "--label --help -- x y");
  }
}

TEST(a_program_without_a_launcher, is_one_rank) {
  const outcome end = run({RANK_PROGRAM, "gather", "1000", "3"});
  EXPECT_EQ(end.code, 0) << end.errors;
  EXPECT_EQ(end.output, "rank 0 of 1, local 0 of 1, alone\n");
  EXPECT_EQ(run({RANK_PROGRAM, "too_much"}).code, 0);
}

TEST(a_program_without_a_launcher, is_refused_the_variables_of_a_launcher) {
  outcome end = run({RANK_PROGRAM, "gather", "1", "1"}, {{"STARLING_LAUNCH_RANK", "0"}});
  EXPECT_EQ(end.code, 33);
  EXPECT_CONTAINS(end.errors, "STARLING_LAUNCH_SOCKET is not set");
  const distributed::variables left_over = {
      {"STARLING_LAUNCH_RANK", "0"},
      {"STARLING_LAUNCH_SIZE", "1"},
      {"STARLING_LAUNCH_SOCKET", "/nonexistent/socket"},
      {"STARLING_LAUNCH_SECRET", "00112233445566778899aabbccddeeff"}};
  end = run({RANK_PROGRAM, "gather", "1", "1"}, left_over);
  EXPECT_EQ(end.code, 33);
  EXPECT_CONTAINS(end.errors, "/nonexistent/socket does not answer");
}

TEST(a_program_without_a_launcher, is_refused_the_variables_of_mpirun) {
  // With and without PMIx in this build.
  const outcome end = run({RANK_PROGRAM, "gather", "1", "1"}, {{"PMIX_RANK", "0"}});
  EXPECT_EQ(end.code, 33);
  EXPECT_CONTAINS(end.errors, "PMIX_RANK is set");
}

}  // namespace
