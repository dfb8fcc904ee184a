// SPDX-License-Identifier: Apache-2.0
// Writing under a temporary name, and failures of the file system.
#include <gtest/gtest.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <string>

#include "io/files.hpp"
#include "tests/output_fixture.hpp"

namespace stars::testing {
namespace {

namespace fs = std::filesystem;

void write_all(const fs::path& path, const std::string& text) {
  output_file file(path);
  file.write(text);
  file.close();
}

TEST(output_file, holds_the_written_bytes) {
  const scratch_directory scratch;
  const std::array<double, 2> numbers{1.0, -0.0};
  output_file file(scratch / "a");
  file.write("text\n");
  EXPECT_EQ(file.position(), 5u);
  file.write(std::span<const double>(numbers));
  EXPECT_EQ(file.position(), 21u);
  file.close();
  const std::string content = read_file(scratch / "a");
  EXPECT_EQ(content.size(), 21u);
  EXPECT_EQ(content.substr(0, 5), "text\n");
  EXPECT_EQ(content.back(), '\x80');
}

TEST(output_file, names_the_file_the_operation_and_the_reason_on_a_full_disk) {
  output_file file("/dev/full");
  try {
    file.write("x");
    FAIL() << "no exception";
  } catch (const output_error& error) {
    EXPECT_EQ(error.code(), ENOSPC);
    EXPECT_STREQ(error.what(), "/dev/full: cannot write: No space left on device");
  }
}

TEST(output_file, reports_a_short_write) {
  const scratch_directory scratch;
  const file_size_limit limit(10);
  output_file file(scratch / "a");
  const auto text = error_of<output_error>([&] { file.write(std::string(100, 'x')); });
  expect_contains(text, "cannot write: File too large");
  EXPECT_EQ(file.position(), 10u);
}

TEST(output_file, reports_a_directory_that_does_not_exist) {
  const scratch_directory scratch;
  const auto text = error_of<output_error>([&] { output_file(scratch / "no/such"); });
  expect_contains(text, "no/such: cannot create: No such file or directory");
}

TEST(staged_output, appears_only_on_commit) {
  const scratch_directory scratch;
  staged_output staged(scratch / "a");
  write_all(staged.path(), "new");
  EXPECT_FALSE(fs::exists(scratch / "a"));
  staged.commit();
  EXPECT_EQ(read_file(scratch / "a"), "new");
  EXPECT_EQ(scratch.names().size(), 1u);
}

TEST(staged_output, without_commit_keeps_the_old_file_and_leaves_nothing_behind) {
  const scratch_directory scratch;
  write_file(scratch / "a", "old");
  {
    const staged_output staged(scratch / "a");
    write_all(staged.path(), "new");
  }
  EXPECT_EQ(read_file(scratch / "a"), "old");
  EXPECT_EQ(scratch.names().size(), 1u);
}

TEST(staged_output, replaces_a_file) {
  const scratch_directory scratch;
  write_file(scratch / "a", "old");
  staged_output staged(scratch / "a");
  write_all(staged.path(), "new");
  staged.commit();
  EXPECT_EQ(read_file(scratch / "a"), "new");
}

TEST(staged_output, replaces_a_directory_also_when_named_with_a_slash) {
  const scratch_directory scratch;
  fs::create_directory(scratch / "a");
  write_file(scratch / "a/old", "old");
  staged_output staged(scratch / "a/");
  fs::create_directory(staged.path());
  write_all(staged.path() / "new", "new");
  staged.commit();
  EXPECT_FALSE(fs::exists(scratch / "a/old"));
  EXPECT_EQ(read_file(scratch / "a/new"), "new");
  EXPECT_EQ(scratch.names().size(), 1u);
}

TEST(staged_output, restores_the_old_directory_when_there_is_no_new_one) {
  const scratch_directory scratch;
  fs::create_directory(scratch / "a");
  write_file(scratch / "a/old", "old");
  staged_output staged(scratch / "a");
  EXPECT_THROW(staged.commit(), output_error);
  EXPECT_EQ(read_file(scratch / "a/old"), "old");
}

TEST(staged_output, writes_under_a_name_that_no_pattern_finds) {
  for (const char* target : {"plt00001", "some/folder/plt00001", "plt00001/"}) {
    const staged_output staged(target);
    EXPECT_EQ(staged.path().filename().string().rfind(".plt00001.partial-", 0), 0u);
  }
}

TEST(write_whole, replaces_a_file_or_leaves_it) {
  const scratch_directory scratch;
  write_file(scratch / "a", "old");
  {
    const file_size_limit limit(2);
    EXPECT_THROW(write_whole(scratch / "a", "newer"), output_error);
  }
  EXPECT_EQ(read_file(scratch / "a"), "old");
  write_whole(scratch / "a", "newer");
  EXPECT_EQ(read_file(scratch / "a"), "newer");
  EXPECT_EQ(scratch.names().size(), 1u);
}

TEST(write_whole, goes_through_links_and_to_devices_without_replacing_them) {
  const scratch_directory scratch;
  write_file(scratch / "a", "old");
  fs::create_symlink(scratch / "a", scratch / "link");
  write_whole(scratch / "link", "new");
  EXPECT_EQ(read_file(scratch / "a"), "new");
  EXPECT_TRUE(fs::is_symlink(scratch / "link"));
  expect_contains(error_of<output_error>([] { write_whole("/dev/full", "x"); }), "No space left");
  expect_contains(error_of<output_error>([&] { write_whole(scratch / ".", "x"); }), "directory");
}

TEST(check_writable, reports_a_later_failure_and_leaves_no_file) {
  const scratch_directory scratch;
  write_file(scratch / "a", "old");
  check_writable(scratch / "a");
  check_writable(scratch / "b");
  check_writable("/dev/null");
  EXPECT_EQ(read_file(scratch / "a"), "old");
  EXPECT_EQ(scratch.names().size(), 1u);
  expect_contains(error_of<output_error>([&] { check_writable(scratch / "no/b"); }),
                  "No such file");
  expect_contains(error_of<output_error>([&] { check_writable(scratch / "."); }), "directory");
}

TEST(staged_output, never_replaces_a_device) {
  const auto text = error_of<output_error>([] { staged_output("/dev/null"); });
  expect_contains(text, "/dev/null: cannot write: neither a file nor a directory");
}

TEST(staged_output, does_not_share_names_between_two_writers_of_one_target) {
  const scratch_directory scratch;
  const staged_output first(scratch / "a");
  const staged_output second(scratch / "a");
  EXPECT_NE(first.path(), second.path());
}

}  // namespace
}  // namespace stars::testing
