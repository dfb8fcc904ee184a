// SPDX-License-Identifier: Apache-2.0
// Failures and kills at each call that changes files: the previous checkpoint stays usable.
#include <gtest/gtest.h>

#include <sys/wait.h>

#include <algorithm>
#include <filesystem>

#include "samples.hpp"
#include "support/scratch_folder.hpp"

namespace starling {
namespace {

using namespace starling_test;
using detail::checkpoint_error;
using detail::checkpoint_numbers;
using detail::open_newest;

const sample first{.number = 1, .ranks = 2};
const sample second{.number = 2, .ranks = 2};

void write_second(const std::string& path, detail::file_system& files) {
  checkpoint_folder folder(path, files);
  second.write(folder);
  keep(folder, path, 1);
}

/// Returns the calls of an undisturbed second checkpoint with the removal of the first one.
std::vector<std::string> undisturbed_calls() {
  const scratch_folder scratch;
  checkpoint_folder folder(scratch.path());
  first.write(folder);
  failing_files files;
  write_second(scratch.path(), files);
  EXPECT_EQ(checkpoint_numbers(scratch.path()), std::vector<std::uint64_t>{2});
  return files.calls();
}

/// Expects the first or the second checkpoint, whole.
void expect_whole(const std::string& path, int at) {
  const auto found = open_newest(path);
  ASSERT_TRUE(found.reader) << at;
  const auto number = found.reader->contents().number;
  EXPECT_EQ(contents_of(*found.reader), (number == 2 ? second : first).expected()) << at;
}

TEST(checkpoint_crash, file_and_folder_are_on_disk_before_the_manifest_has_its_name) {
  auto calls = undisturbed_calls();
  const std::vector<std::string> expected{"create", "write", "sync", "close", "rename", "sync"};
  calls.erase(std::unique(calls.begin(), calls.end()), calls.end());
  auto at = calls.begin() + 2;  // make_folder, sync of its parent
  ASSERT_EQ(std::vector<std::string>(calls.begin(), at),
            (std::vector<std::string>{"make_folder", "sync"}));
  for (int file = 0; file < 3; ++file, at += 6)
    EXPECT_EQ(std::vector<std::string>(at, at + 6), expected) << file;
}

TEST(checkpoint_crash, kills_at_any_call_leave_a_whole_checkpoint) {
  const int calls = int(undisturbed_calls().size());
  for (int at = 0; at < calls; ++at) {
    const scratch_folder scratch;
    checkpoint_folder folder(scratch.path());
    first.write(folder);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      failing_files files(at, 1, EIO, failing_files::way::is_killed);
      write_second(scratch.path(), files);
      ::_exit(0);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << at;
    expect_whole(scratch.path(), at);
    // The next run cleans up and goes on.
    folder.remove_unfinished();
    EXPECT_TRUE(open_newest(scratch.path()).refused.empty()) << at;
    sample third{.number = folder.next_number(), .ranks = 3};
    third.write(folder);
    keep(folder, scratch.path(), 1);
    EXPECT_EQ(checkpoint_numbers(scratch.path()), std::vector<std::uint64_t>{third.number}) << at;
    EXPECT_EQ(contents_of(*open_newest(scratch.path()).reader), third.expected()) << at;
  }
}

TEST(checkpoint_crash, failures_at_any_call_leave_a_whole_checkpoint_and_no_litter) {
  const int calls = int(undisturbed_calls().size());
  int failed = 0;
  const int codes[] = {EIO, ENOSPC, EDQUOT, EROFS};
  for (int at = 0; at < calls; ++at) {
    const scratch_folder scratch;
    checkpoint_folder folder(scratch.path());
    first.write(folder);
    failing_files files(at, 1, codes[at % 4]);
    try {
      write_second(scratch.path(), files);
    } catch (const checkpoint_error& e) {
      ++failed;
      EXPECT_EQ(e.code(), codes[at % 4]) << e.what();
      EXPECT_NE(std::string(e.what()).find(scratch.path()), std::string::npos) << e.what();
      // The share of the other rank may remain, until all ranks know of the failure.
      if (!open_newest(scratch.path()).refused.empty()) folder.abandon(2);
    }
    expect_whole(scratch.path(), at);
    EXPECT_TRUE(open_newest(scratch.path()).refused.empty()) << at;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(scratch.path()))
      EXPECT_NE(entry.path().extension(), ".writing") << at << ' ' << entry.path();
  }
  EXPECT_EQ(failed, calls);
}

TEST(checkpoint_crash, failures_of_a_removal_leave_no_manifest_without_its_shares) {
  for (int at = 0; at < 6; ++at) {
    const scratch_folder scratch;
    checkpoint_folder folder(scratch.path());
    first.write(folder);
    failing_files files(at, 1 << 20);
    checkpoint_folder failing(scratch.path(), files);
    if (at < 5) {  // manifest, folder, two shares, folder
      EXPECT_THROW(failing.abandon(1), checkpoint_error) << at;
    } else {
      failing.abandon(1);
    }
    const bool complete =
        std::filesystem::exists(scratch.path() + "/" + detail::checkpoint_name(1) + "/manifest");
    EXPECT_EQ(open_newest(scratch.path()).reader.has_value(), complete) << at;
    EXPECT_EQ(complete, at == 0);
  }
}

TEST(checkpoint_crash, failures_that_last_leave_the_first_checkpoint) {
  const int calls = int(undisturbed_calls().size());
  for (int at = 0; at < calls; ++at) {
    const scratch_folder scratch;
    checkpoint_folder folder(scratch.path());
    first.write(folder);
    failing_files files(at, 1 << 20, EIO);
    EXPECT_THROW(write_second(scratch.path(), files), checkpoint_error) << at;
    expect_whole(scratch.path(), at);
  }
}

}  // namespace
}  // namespace starling
