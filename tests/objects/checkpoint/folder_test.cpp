// SPDX-License-Identifier: Apache-2.0
// Checkpoints in folders: other numbers of ranks, refused files, retention, several writers.
#include <gtest/gtest.h>

#include <sys/resource.h>
#include <sys/stat.h>

#include <filesystem>
#include <future>
#include <thread>

#include "objects/checkpoint/background_writer.hpp"
#include "samples.hpp"
#include "support/scratch_folder.hpp"

namespace starling {
namespace {

using namespace starling_test;
using detail::checkpoint_error;
using detail::checkpoint_fault;
using detail::checkpoint_numbers;
using detail::checks;
using detail::open_newest;
using numbers = std::vector<std::uint64_t>;

class checkpoint_on_disk : public testing::Test {
 protected:
  void write(std::uint64_t number, std::uint32_t ranks = 2) {
    sample{.number = number, .ranks = ranks}.write(folder);
  }
  [[nodiscard]] std::string file(std::uint64_t number, const std::string& name) const {
    return scratch.path() + "/" + detail::checkpoint_name(number) + "/" + name;
  }
  /// Expects that checkpoint 2 is refused for `fault`, naming `name`, and that 1 is used.
  void expect_first(checkpoint_fault fault, const std::string& name,
                    checks depth = checks::everything) {
    const auto found = open_newest(scratch.path(), depth);
    ASSERT_TRUE(found.reader);
    EXPECT_EQ(found.reader->contents().number, 1u);
    EXPECT_EQ(contents_of(*found.reader), (sample{.number = 1, .ranks = 2}.expected()));
    ASSERT_EQ(found.refused.size(), 1u);
    EXPECT_EQ(found.refused[0].number, 2u);
    EXPECT_EQ(found.refused[0].fault, fault) << found.refused[0].reason;
    EXPECT_NE(found.refused[0].reason.find(file(2, name)), std::string::npos)
        << found.refused[0].reason;
  }

  starling_test::scratch_folder scratch;
  checkpoint_folder folder{scratch.path()};
};

TEST_F(checkpoint_on_disk, is_read_by_any_number_of_ranks) {
  for (std::uint32_t ranks = 1; ranks <= 8; ++ranks) {
    const sample s{.number = ranks, .ranks = ranks, .elements = 23, .most_bytes = 3000};
    s.write(folder);
    for (std::uint32_t readers = 1; readers <= 8; ++readers) {
      contents all;
      for (std::uint32_t reader = 0; reader < readers; ++reader) {
        const auto found = open_newest(scratch.path(), checks::index);
        ASSERT_TRUE(found.reader);
        for (std::uint32_t r = reader; r < ranks; r += readers) {
          share_reader share = found.reader->open_share(r);
          add_states(share, all);
        }
      }
      EXPECT_EQ(all, s.expected()) << ranks << " written, read by " << readers;
    }
  }
}

TEST_F(checkpoint_on_disk, has_label_step_and_time_in_its_manifest) {
  write(1);
  const auto found = open_newest(scratch.path());
  ASSERT_TRUE(found.reader);
  EXPECT_EQ(found.reader->contents().run, "test");
  EXPECT_EQ(found.reader->contents().step, 10u);
  EXPECT_EQ(found.reader->contents().shares.size(), 2u);
  EXPECT_TRUE(found.refused.empty());
}

TEST_F(checkpoint_on_disk, does_not_exist_in_an_empty_or_missing_folder) {
  EXPECT_FALSE(open_newest(scratch.path()).reader);
  EXPECT_FALSE(open_newest(scratch.path() + "/none").reader);
  EXPECT_EQ(checkpoint_folder(scratch.path() + "/none").next_number(), 1u);
}

TEST_F(checkpoint_on_disk, is_refused_without_a_share) {
  write(1), write(2);
  std::filesystem::remove(file(2, "share.000001"));
  expect_first(checkpoint_fault::torn, "share.000001");
}

TEST_F(checkpoint_on_disk, is_refused_without_a_manifest) {
  write(1), write(2);
  std::filesystem::remove(file(2, "manifest"));
  expect_first(checkpoint_fault::torn, "manifest");
}

TEST_F(checkpoint_on_disk, is_refused_with_a_shorter_share) {
  write(1), write(2);
  std::filesystem::resize_file(file(2, "share.000000"), 300);
  for (const checks depth : {checks::sizes, checks::index, checks::everything})
    expect_first(checkpoint_fault::torn, "share.000000", depth);
}

TEST_F(checkpoint_on_disk, is_refused_with_a_damaged_state) {
  write(1), write(2);
  bytes all = file_bytes(file(2, "share.000001"));
  all[detail::sealed_size + 3] ^= std::byte{4};
  write_file(file(2, "share.000001"), all);
  EXPECT_EQ(open_newest(scratch.path(), checks::index).reader->contents().number, 2u);
  expect_first(checkpoint_fault::damaged, "share.000001");
}

TEST_F(checkpoint_on_disk, is_refused_with_foreign_files) {
  write(1), write(2);
  write_file(file(2, "share.000001"), random_bytes(file_bytes(file(2, "share.000001")).size(), 4));
  expect_first(checkpoint_fault::foreign, "share.000001");
  write_file(file(2, "manifest"), random_bytes(200, 4));
  expect_first(checkpoint_fault::foreign, "manifest");
}

TEST_F(checkpoint_on_disk, is_refused_with_a_folder_or_fifo_for_a_share) {
  write(1), write(2);
  std::filesystem::remove(file(2, "share.000001"));
  ASSERT_EQ(::mkfifo(file(2, "share.000001").c_str(), 0600), 0);
  expect_first(checkpoint_fault::foreign, "share.000001");
  std::filesystem::remove(file(2, "share.000001"));
  std::filesystem::create_directory(file(2, "share.000001"));
  expect_first(checkpoint_fault::foreign, "share.000001");
}

TEST_F(checkpoint_on_disk, is_refused_with_files_of_another_checkpoint) {
  write(1), write(2);
  const bytes share = file_bytes(file(2, "share.000001"));
  std::filesystem::copy_file(file(1, "share.000001"), file(2, "share.000001"),
                             std::filesystem::copy_options::overwrite_existing);
  expect_first(checkpoint_fault::mismatch, "share.000001");
  // The share of another rank, and of another checkpoint with the same number.
  std::filesystem::copy_file(file(2, "share.000000"), file(2, "share.000001"),
                             std::filesystem::copy_options::overwrite_existing);
  expect_first(checkpoint_fault::mismatch, "share.000001");
  write_file(file(2, "share.000001"), sample{.number = 2, .seed = 9, .ranks = 2}.share(1));
  expect_first(checkpoint_fault::mismatch, "share.000001");
  EXPECT_NE(open_newest(scratch.path()).refused[0].reason.find("of another checkpoint"),
            std::string::npos);
  write_file(file(2, "share.000001"), share);
  EXPECT_TRUE(open_newest(scratch.path()).refused.empty());
  std::filesystem::copy_file(file(1, "manifest"), file(2, "manifest"),
                             std::filesystem::copy_options::overwrite_existing);
  expect_first(checkpoint_fault::mismatch, "manifest");
}

TEST_F(checkpoint_on_disk, keeps_the_newest_and_removes_unfinished_older_ones) {
  for (std::uint64_t n = 1; n <= 6; ++n) write(n);
  std::filesystem::remove(file(5, "manifest"));
  keep(folder, scratch.path(), 3);
  EXPECT_EQ(checkpoint_numbers(scratch.path()), (numbers{3, 4, 6}));
  keep(folder, scratch.path(), 0);
  EXPECT_EQ(checkpoint_numbers(scratch.path()), (numbers{6}));
}

TEST_F(checkpoint_on_disk, never_loses_the_last_good_one_to_later_bad_ones) {
  for (std::uint64_t n = 1; n <= 4; ++n) write(n);
  std::filesystem::remove(file(4, "manifest"));      // perhaps in progress
  std::filesystem::remove(file(3, "share.000000"));  // torn
  write_file(file(2, "manifest"), random_bytes(100, 1));
  keep(folder, scratch.path(), 1);
  EXPECT_EQ(checkpoint_numbers(scratch.path()), (numbers{1, 2, 3, 4}));
  EXPECT_EQ(open_newest(scratch.path()).reader->contents().number, 1u);
}

TEST_F(checkpoint_on_disk, leaves_files_of_the_user) {
  for (std::uint64_t n = 1; n <= 3; ++n) write(n);
  write_file(file(1, "notes.txt"), bytes(3));
  write_file(scratch.path() + "/checkpoint.7", bytes(3));
  std::filesystem::create_directory(scratch.path() + "/checkpoint.old");
  keep(folder, scratch.path(), 1);
  folder.remove_unfinished();
  EXPECT_TRUE(std::filesystem::exists(file(1, "notes.txt")));
  EXPECT_FALSE(std::filesystem::exists(file(1, "share.000000")));
  EXPECT_TRUE(std::filesystem::exists(scratch.path() + "/checkpoint.7"));
  EXPECT_TRUE(std::filesystem::exists(scratch.path() + "/checkpoint.old"));
  EXPECT_FALSE(std::filesystem::exists(file(2, "")));
}

TEST_F(checkpoint_on_disk, is_removed_by_the_next_run_where_it_is_unfinished) {
  write(1), write(2);
  std::filesystem::remove(file(2, "manifest"));
  std::filesystem::rename(file(2, "share.000001"), file(2, "share.000001.writing"));
  write_file(file(1, "manifest.writing"), bytes(10));
  EXPECT_EQ(folder.next_number(), 3u);
  folder.remove_unfinished();
  EXPECT_EQ(checkpoint_numbers(scratch.path()), (numbers{1}));
  EXPECT_FALSE(std::filesystem::exists(file(1, "manifest.writing")));
  EXPECT_TRUE(open_newest(scratch.path()).refused.empty());
}

TEST_F(checkpoint_on_disk, is_written_by_several_ranks_at_the_same_time) {
  const sample s{.ranks = 8, .elements = 200, .most_bytes = 5000};
  std::vector<share_summary> shares(s.ranks);
  checkpoint_folder below(scratch.path() + "/a/b");
  {
    std::vector<std::jthread> writers;
    for (std::uint32_t r = 0; r < s.ranks; ++r)
      writers.emplace_back([&, r] {
        shares[r] = below.write_share(s.identity(r), [&](share_writer& to) { s.fill(to, r); });
      });
  }
  EXPECT_FALSE(open_newest(scratch.path() + "/a/b").reader);
  below.complete(s.with(shares));
  EXPECT_EQ(contents_of(*open_newest(scratch.path() + "/a/b").reader), s.expected());
}

/// Returns the error of a write below `path`.
std::string error_of_write(const std::string& path, int code) {
  try {
    checkpoint_folder below(path);
    sample{.number = 2}.write(below);
  } catch (const checkpoint_error& e) {
    EXPECT_EQ(e.fault(), checkpoint_fault::io);
    EXPECT_EQ(e.code(), code) << e.what();
    return e.what();
  }
  ADD_FAILURE() << "written";
  return {};
}

TEST_F(checkpoint_on_disk, reports_a_path_that_is_a_file) {
  write_file(scratch.path() + "/file", bytes(1));
  const std::string file_path = scratch.path() + "/file";
  const std::string text = error_of_write(file_path, EEXIST);
  EXPECT_NE(text.find(file_path), std::string::npos) << text;
  EXPECT_NE(text.find("is a file: name another folder"), std::string::npos) << text;
  EXPECT_THROW(static_cast<void>(open_newest(file_path)), checkpoint_error);
}

TEST_F(checkpoint_on_disk, reports_a_full_disk_and_leaves_no_litter) {
  write(1, 1);
  // The temporary file leads to a device that is always full.
  std::filesystem::create_directory(file(2, ""));
  std::filesystem::create_symlink("/dev/full", file(2, "share.000000.writing"));
  const std::string text = error_of_write(scratch.path(), ENOSPC);
  EXPECT_NE(text.find("cannot write"), std::string::npos) << text;
  EXPECT_NE(text.find("free space there"), std::string::npos) << text;
  EXPECT_EQ(checkpoint_numbers(scratch.path()), (numbers{1}));
  EXPECT_TRUE(open_newest(scratch.path()).refused.empty());
}

TEST_F(checkpoint_on_disk, reports_the_limit_of_file_sizes) {
  write(1, 1);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit low{200, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &low), 0);
  const std::string text = error_of_write(scratch.path(), EFBIG);
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_NE(text.find("ulimit -f"), std::string::npos) << text;
  EXPECT_EQ(checkpoint_numbers(scratch.path()), (numbers{1}));
}

TEST_F(checkpoint_on_disk, is_removed_if_its_contents_cannot_be_given) {
  EXPECT_THROW(folder.write_share({}, [](share_writer&) { throw std::runtime_error("packing"); }),
               std::runtime_error);
  EXPECT_TRUE(checkpoint_numbers(scratch.path()).empty());
}

TEST_F(checkpoint_on_disk, is_written_in_the_background_and_reports_errors) {
  const sample s{.ranks = 1};
  std::promise<share_summary> good, bad;
  const auto into = [](std::promise<share_summary>& p) {
    return [&p](share_summary summary, std::exception_ptr failed) {
      failed ? p.set_exception(failed) : p.set_value(std::move(summary));
    };
  };
  detail::background_writer writer;
  writer.write(
      [&] { return folder.write_share(s.identity(0), [&](share_writer& to) { s.fill(to, 0); }); },
      into(good));
  writer.write(
      [&] { return checkpoint_folder("/dev/null/below").write_share(s.identity(0), [](auto&) {}); },
      into(bad));
  folder.complete(s.with({good.get_future().get()}));
  EXPECT_EQ(contents_of(*open_newest(scratch.path()).reader), s.expected());
  EXPECT_THROW(static_cast<void>(bad.get_future().get()), checkpoint_error);
}

TEST_F(checkpoint_on_disk, is_finished_before_the_background_writer_ends) {
  const sample s{};
  int done = 0;
  {
    detail::background_writer writer;
    for (int i = 0; i < 10; ++i)
      writer.write(
          [&, i] {
            const share_identity as{std::uint64_t(i + 1), 1, 0, 1};
            return folder.write_share(as, [&](share_writer& to) { s.fill(to, 0); });
          },
          [&](share_summary, std::exception_ptr failed) { done += failed ? 0 : 1; });
  }
  EXPECT_EQ(done, 10);
  EXPECT_EQ(checkpoint_numbers(scratch.path()).size(), 10u);
}

}  // namespace
}  // namespace starling
