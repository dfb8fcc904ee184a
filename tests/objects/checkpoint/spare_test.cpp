// SPDX-License-Identifier: Apache-2.0
// Folders in memory keep the files of a removed checkpoint, which the next one overwrites.
#include <gtest/gtest.h>

#include <sys/stat.h>
#include <sys/wait.h>

#include <filesystem>
#include <string>

#include "objects/checkpoint/share_copy.hpp"
#include "samples.hpp"
#include "support/scratch_folder.hpp"

namespace starling {
namespace {

using namespace starling_test;
using detail::checkpoint_error;
using detail::open_newest;

ino_t inode_of(const std::string& path) {
  struct stat about {};
  EXPECT_EQ(::stat(path.c_str(), &about), 0) << path;
  return about.st_ino;
}

struct spares : testing::Test {
  spares() { files.in_memory = true; }
  void write(std::uint64_t number, std::uint64_t elements = 5) {
    made(number, elements).write(folder);
    keep(folder, scratch.path(), 1);
  }
  static sample made(std::uint64_t number, std::uint64_t elements = 5) {
    return {.number = number, .seed = number, .ranks = 2, .elements = elements};
  }
  [[nodiscard]] std::string spare(int share) const {
    return scratch.path() + "/spare.00000" + std::to_string(share);
  }
  [[nodiscard]] std::string share(int number, int of) const {
    return scratch.path() + "/checkpoint.00000" + std::to_string(number) + "/share.00000" +
           std::to_string(of);
  }
  void expect_contents(const sample& of) const {
    const auto found = open_newest(scratch.path());
    ASSERT_TRUE(found.reader && found.refused.empty());
    EXPECT_EQ(found.reader->contents().number, of.number);
    EXPECT_EQ(contents_of(*found.reader), of.expected());
  }

  scratch_folder scratch;
  failing_files files;
  checkpoint_folder folder{scratch.path(), files};
};

TEST_F(spares, are_files_of_the_removed_checkpoint_and_become_those_of_the_next_one) {
  write(1);
  const ino_t old[] = {inode_of(share(1, 0)), inode_of(share(1, 1))};
  EXPECT_FALSE(std::filesystem::exists(spare(0)));
  write(2);
  EXPECT_FALSE(std::filesystem::exists(scratch.path() + "/checkpoint.000001"));
  for (int s : {0, 1}) EXPECT_EQ(inode_of(spare(s)), old[s]) << s;
  write(3);
  for (int s : {0, 1}) EXPECT_EQ(inode_of(share(3, s)), old[s]) << s;
  expect_contents(made(3));
}

TEST_F(spares, may_be_longer_or_shorter_than_the_next_share) {
  const std::uint64_t sizes[] = {50, 5, 1, 90, 2, 200};
  std::uint64_t number = 0;
  for (const std::uint64_t elements : sizes) {
    write(++number, elements);
    expect_contents(made(number, elements));
  }
}

TEST_F(spares, are_used_for_copies_of_other_ranks) {
  write(1);
  const ino_t old = inode_of(share(1, 1));
  write(2);
  const sample third = made(3);
  const bytes all = third.share(1);
  detail::share_copy copy(scratch.path(), 3, 1, files);
  copy.append(0, {all, {}});
  share_reader reader(std::make_unique<detail::memory_source>(all));
  copy.finish(reader.summary());
  EXPECT_EQ(inode_of(share(3, 1)), old);
  EXPECT_EQ(file_bytes(share(3, 1)), all);
}

TEST_F(spares, are_not_kept_on_disk_or_in_folders_of_other_runs) {
  files.in_memory = false;
  write(1);
  write(2);
  EXPECT_FALSE(std::filesystem::exists(spare(0)));
  files.in_memory = true;
  made(3).write(folder);
  folder.remove_older({3, 3}, false);
  EXPECT_FALSE(std::filesystem::exists(spare(0)));
}

TEST_F(spares, are_removed_when_a_run_begins_or_ends) {
  for (const bool begins : {true, false}) {
    write(begins ? 1 : 3);
    write(begins ? 2 : 4);
    EXPECT_TRUE(std::filesystem::exists(spare(1)));
    begins ? folder.remove_unfinished() : folder.remove_spares();
    EXPECT_FALSE(std::filesystem::exists(spare(0)) || std::filesystem::exists(spare(1)));
    expect_contents(made(begins ? 2 : 4));
  }
}

TEST_F(spares, are_not_kept_of_ranks_that_write_no_more) {
  made(1).write(folder);
  sample one = made(2);
  one.ranks = 1;
  one.write(folder);
  keep(folder, scratch.path(), 1);
  EXPECT_TRUE(std::filesystem::exists(spare(0)));
  EXPECT_FALSE(std::filesystem::exists(spare(1)));
}

TEST_F(spares, are_not_overwritten_where_they_have_other_names_or_are_no_files) {
  write(1);
  std::filesystem::create_hard_link(share(1, 0), scratch.path() + "/archive");
  const bytes archived = file_bytes(share(1, 0));
  write(2);
  std::filesystem::remove(spare(1));
  std::filesystem::create_symlink(scratch.path() + "/archive", spare(1));
  write(3);
  expect_contents(made(3));
  EXPECT_EQ(file_bytes(scratch.path() + "/archive"), archived);
}

/// Writes the third checkpoint over the files of the first one.
void write_third(const std::string& path, detail::file_system& files) {
  checkpoint_folder folder(path, files);
  spares::made(3, 7).write(folder);
  keep(folder, path, 1);
}

/// Expects the second or the third checkpoint, whole.
void expect_whole(const std::string& path, int at) {
  const auto found = open_newest(path);
  ASSERT_TRUE(found.reader) << at;
  const auto number = found.reader->contents().number;
  const sample expected = number == 3 ? spares::made(3, 7) : spares::made(2);
  EXPECT_EQ(contents_of(*found.reader), expected.expected()) << at;
}

TEST_F(spares, cost_no_checkpoint_when_the_process_is_killed_or_a_call_fails) {
  write(1);
  write(2);
  const scratch_folder copy;
  const std::string kept = copy.path() + "/kept";
  std::filesystem::copy(scratch.path(), kept, std::filesystem::copy_options::recursive);
  failing_files undisturbed;
  undisturbed.in_memory = true;
  write_third(scratch.path(), undisturbed);
  const int calls = int(undisturbed.calls().size());
  for (int at = 0; at < calls; ++at) {
    for (const bool is_killed : {false, true}) {
      std::filesystem::remove_all(scratch.path());
      std::filesystem::copy(kept, scratch.path(), std::filesystem::copy_options::recursive);
      const pid_t child = ::fork();
      ASSERT_GE(child, 0);
      if (child == 0) {
        failing_files failing(
            at, 1, EIO, is_killed ? failing_files::way::is_killed : failing_files::way::fails);
        failing.in_memory = true;
        try {
          write_third(scratch.path(), failing);
        } catch (const checkpoint_error&) {
          ::_exit(1);
        }
        ::_exit(0);
      }
      int status = 0;
      ASSERT_EQ(::waitpid(child, &status, 0), child);
      EXPECT_EQ(WIFSIGNALED(status), is_killed) << at;
      expect_whole(scratch.path(), at);
      folder.remove_unfinished();
      made(4).write(folder);
      expect_contents(made(4));
    }
  }
}

}  // namespace
}  // namespace starling
