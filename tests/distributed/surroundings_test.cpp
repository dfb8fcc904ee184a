// SPDX-License-Identifier: Apache-2.0
// Jobs with scarce resources: shared memory, descriptors, space for output, short paths.
#include <sched.h>

#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "command.hpp"
#include "fault_kit.hpp"
#include "support/sanitizers.hpp"

namespace {

using distributed::contains;
using distributed::launch;
using distributed::outcome;
using distributed::run;
using starling_test::scratch_folder;

/// Runs a shell that executes `first`, then the launcher with a job of chares on `ranks` ranks.
outcome run_chares_after(const std::string& first, int ranks, const std::string& folder,
                         const std::vector<std::string>& prefix = {}) {
  std::vector<std::string> line = prefix;
  line.insert(line.end(),
              {"sh", "-c",
               first + "; exec " STARLING_COMMAND " launch --timeout 100 -n " +
                   std::to_string(ranks) + " " FAULT_PROGRAM " " + folder + " -1 0 working"});
  return run(line);
}

/// Runs a job whose /dev/shm is mounted with `options`. Code 77: mounting is not permitted.
outcome run_chares_with_shared_memory(const std::string& options, int ranks) {
  const scratch_folder folder;
  return run_chares_after("mount -t tmpfs -o " + options + " none /dev/shm || exit 77", ranks,
                          folder.path(), {"unshare", "--mount"});
}
bool is_skipped(const outcome& end) {
  return end.code == 77 || (end.code != 0 && contains(end.errors, "unshare"));
}

TEST(a_job, works_where_shared_memory_is_small) {
  const outcome end = run_chares_with_shared_memory("size=64m", 16);  // as in a container
  if (is_skipped(end)) GTEST_SKIP() << "needs to be root, and namespaces: " << end.errors;
  EXPECT_EQ(end.code, 0) << end.output << end.errors;
  EXPECT_CONTAINS(end.output, "the sum of all ranks is 120");
  EXPECT_CONTAINS(end.errors, "starling: /dev/shm/starling-");
  EXPECT_CONTAINS(end.errors, " has 64 MiB free, too few for 16 ranks");
}

TEST(a_job, works_where_shared_memory_is_read_only) {
  const outcome end = run_chares_with_shared_memory("ro", 3);
  if (is_skipped(end)) GTEST_SKIP() << "needs to be root, and namespaces: " << end.errors;
  EXPECT_EQ(end.code, 0) << end.output << end.errors;
  EXPECT_CONTAINS(end.output, "the sum of all ranks is 3");
  EXPECT_CONTAINS(end.errors, "/dev/shm cannot be written");
}

TEST(a_job, prints_nothing_where_there_is_enough_shared_memory) {
  const outcome end = run_chares_with_shared_memory("size=1g", 3);
  if (is_skipped(end)) GTEST_SKIP() << "needs to be root, and namespaces: " << end.errors;
  EXPECT_EQ(end.code, 0) << end.output << end.errors;
  EXPECT_EQ(end.errors, "");
}

TEST(a_job, names_the_limit_of_open_files_that_it_does_not_fit_into) {
  if (starling_test::has_address_sanitizer) GTEST_SKIP() << "the sanitizers open files themselves";
  const scratch_folder folder;
  const outcome end = run_chares_after("ulimit -n 24", 3, folder.path());
  if (end.code == 77) GTEST_SKIP() << end.output;
  EXPECT_NE(end.code, 0);
  EXPECT_CONTAINS(end.output + end.errors, "open files");
  EXPECT_CONTAINS(end.output + end.errors, "the limit is 24 (ulimit -n)");
}

TEST(a_job, writes_one_timeline_with_the_rows_of_all_ranks) {
  const scratch_folder folder, files;
  const std::string file = files.path() + "/t.json";
  const outcome end = run(
      {STARLING_COMMAND, "launch", "-n", "3", FAULT_PROGRAM, folder.path(), "-1", "0", "working"},
      {{"STARLING_TRACE", file}, {"STARLING_SUMMARY", "1"}});
  if (end.code == 77) GTEST_SKIP() << end.output;
  EXPECT_EQ(end.code, 0) << end.output << end.errors;
  std::stringstream text;
  text << std::ifstream(file).rdbuf();
  for (const std::string rank : {"rank 0:", "rank 1:", "rank 2:"}) {
    EXPECT_CONTAINS(text.str(), '"' + rank + " workers\"");
    EXPECT_CONTAINS(end.errors, rank + "\nkind ");
  }
  EXPECT_TRUE(text.str().ends_with("\n]}\n"));
}

TEST(a_job, whose_output_cannot_be_written_fails) {
  std::string line = "exec";
  for (const std::string& word : launch(3, {"lines", "3"}, {"--label"})) line += " " + word;
  const outcome end = run({"sh", "-c", line + " >/dev/full"});
  EXPECT_EQ(end.code, 1);
  EXPECT_CONTAINS(end.errors, "standard output cannot be written: No space left on device");
  EXPECT_EQ(run({"sh", "-c", line + " >/dev/full 2>&1"}).code, 1);
}

TEST(a_job, needs_no_short_temporary_folder) {
  const scratch_folder folder;
  const std::string long_name = folder.path() + "/" + std::string(120, 'x');
  ASSERT_EQ(run({"mkdir", long_name}).code, 0);
  const outcome end =
      run(launch(2, {"gather", "1", "1"}), {{"XDG_RUNTIME_DIR", long_name}, {"TMPDIR", long_name}});
  EXPECT_EQ(end.code, 0) << end.errors;
  EXPECT_EQ(run({"rmdir", long_name}).code, 0);
}

TEST(a_job, may_be_started_with_np) {
  for (std::vector<std::string> line : {std::vector<std::string>{"-np", "2"},
                                        {"--label", "-np", "2"},
                                        {"--bind", "none", "-np", "2"}}) {
    line.insert(line.begin(), {STARLING_COMMAND, "launch"});
    line.insert(line.end(), {"echo", "-np", "4"});  // an argument of the program
    const outcome end = run(line);
    EXPECT_EQ(end.code, 0) << end.errors;
    EXPECT_CONTAINS(end.output, "-np 4\n");
    EXPECT_NE(end.output.find("-np 4"), end.output.rfind("-np 4")) << end.output;
  }
}

TEST(a_job, prints_the_last_output_of_ranks_that_detect_a_failure) {
  const outcome end = run(launch(3, {"last_words", "1"}));
  EXPECT_EQ(end.code, 3);
  EXPECT_CONTAINS(end.output, "last words of rank 0\n");
  EXPECT_CONTAINS(end.output, "last words of rank 2\n");
  EXPECT_CONTAINS(end.errors, ") exited with code 3\n");  // the launcher ended no other rank
}

TEST(a_job, prints_the_report_of_the_first_rank_on_an_error_of_another) {
  for (int trial = 0; trial < 20; ++trial) {
    const scratch_folder folder;
    const outcome end = run({STARLING_COMMAND, "launch", "-n", "3", FAULT_PROGRAM, folder.path(),
                             "-1", "0", "failing"});
    if (end.code == 77) GTEST_SKIP() << end.output;
    EXPECT_NE(end.code, 0);
    EXPECT_CONTAINS(end.output, "the method of rank 1 fails");
  }
}

TEST(a_job, that_is_interrupted_does_not_wait_for_last_output) {
  distributed::command job(
      {STARLING_COMMAND, "launch", "-n", "2", "--grace", "1000", "sh", "-c",
       "[ $STARLING_LAUNCH_RANK = 1 ] || exec sleep 1000; echo rank 1: $$; exit 7"});
  const auto failed = pid_t(distributed::number_behind(job, "rank 1: "));
  ASSERT_GT(failed, 0);
  while (::kill(failed, 0) == 0) ::sched_yield();  // until the launcher has collected its exit code
  job.signal(SIGTERM);
  const outcome end = job.finish();
  EXPECT_EQ(end.code, 7);
  EXPECT_CONTAINS(end.errors, ") exited with code 7; ended the other rank\n");
}

}  // namespace
