// SPDX-License-Identifier: Apache-2.0
// Checkpoints of arrays: a program that restarts on any number of ranks continues as if it had not
// ended.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <starling/core.hpp>
#include <starling/objects.hpp>

#include "checkpoint_cells.hpp"
#include "objects/checkpoint/checksum.hpp"
#include "objects/checkpoint/share_format.hpp"
#include "support/scratch_folder.hpp"

namespace starling {
namespace {

using starling_test::cell;
using starling_test::cells_program;
using starling_test::cluster;
using starling_test::over_ucx;
using starling_test::word;
using program_task = std::function<task<>(cells_program&)>;

/// Opens the checkpoints below a folder and runs a task on rank 0.
struct program {
  std::string path;
  std::string restart;

  void run(const cluster& all, const program_task& work) const {
    all.expect(0, [&](runtime& rt) -> task<int> { return rank_zero(rt, work); });
  }

 private:
  task<int> rank_zero(runtime& rt, program_task work) const {
    auto p = co_await cells_program::begin(rt, path, {2, "test", restart});
    co_await work(p);
    co_return 0;
  }
};

/// Takes a checkpoint and waits until it is on disk.
task<std::uint64_t> take_whole(cells_program& p) {
  auto written = co_await p.saved.take(std::uint64_t(*p.step));
  co_return co_await std::move(written);
}

class array_checkpoint : public starling_test::on_clusters {
 protected:
  starling_test::scratch_folder scratch;
  const program anew{scratch.path(), "none"};
  const program latest{scratch.path(), "latest"};

  /// Takes checkpoints at the steps 1 and 2; returns the contents at the first one.
  std::vector<std::string> take_two() const {
    std::vector<std::string> at_1;
    anew.run(all, [&](cells_program& p) -> task<> {
      co_await p.advance_to(1);
      at_1 = co_await p.contents();
      static_cast<void>(co_await take_whole(p));
      co_await p.advance_to(2);
      static_cast<void>(co_await take_whole(p));
    });
    return at_1;
  }
  /// Sends messages before the elements exist, which make them migrate.
  task<int> early_messages(runtime& rt, std::vector<std::string> expected) const {
    auto saved = co_await checkpoints::open(rt, scratch.path(), {2, "", "latest"});
    cells_program p(std::move(saved));
    p.create();
    const int workers = int(total_worker_count(rt));
    for (int i = 0; i < p.size(); ++i) p.element(i).invoke<&cell::go>((i * 3 + 1) % workers);
    co_await p.saved.load();
    co_await quiescence();
    EXPECT_EQ(co_await p.contents(), expected);
    co_return 0;
  }
};
INSTANTIATE_TEST_SUITE_P(on, array_checkpoint,
                         testing::Values(cluster{1, 1}, cluster{1, 3}, cluster{2, 2}, cluster{5, 1},
                                         over_ucx({3, 1})),
                         starling_test::cluster_name);

TEST_P(array_checkpoint, continues_on_any_number_of_ranks) {
  std::vector<std::string> at_3, at_6;
  anew.run(all, [&](cells_program& p) -> task<> {
    EXPECT_FALSE(p.saved.is_restart());
    co_await p.advance_to(3);
    EXPECT_EQ(co_await take_whole(p), 1u);
    at_3 = co_await p.contents();
    co_await p.advance_to(6);
    at_6 = co_await p.contents();
  });
  ASSERT_NE(at_3, at_6);
  for (const cluster& other : {cluster{1, 2}, cluster{3, 2}, cluster{4, 1}})
    latest.run(other, [&](cells_program& p) -> task<> {
      EXPECT_TRUE(p.saved.is_restart());
      EXPECT_EQ(p.saved.number(), 1u);
      EXPECT_EQ(p.saved.step(), 3u);
      EXPECT_EQ(*p.step, 3);
      EXPECT_EQ(co_await p.contents(), at_3);
      co_await p.advance_to(6);
      EXPECT_EQ(co_await p.contents(), at_6);
    });
}

TEST_P(array_checkpoint, is_the_state_at_the_call) {
  std::vector<std::string> before;
  anew.run(all, [&](cells_program& p) -> task<> {
    co_await p.advance_to(1);
    before = co_await p.contents();
    auto written = co_await p.saved.take(1);
    p.cells[0].invoke<&cell::advance>(17);  // while the files are written
    static_cast<void>(co_await std::move(written));
    EXPECT_NE(co_await p.contents(), before);
  });
  latest.run(all, [&](cells_program& p) -> task<> { EXPECT_EQ(co_await p.contents(), before); });
}

TEST_P(array_checkpoint, contains_messages_that_wait_in_mailboxes) {
  anew.run(all, [&](cells_program& p) -> task<> {
    for (int i = 0; i < 4; ++i)
      p.element(7).invoke<&cell::letter>(i, std::string(1, char('a' + i)));
    static_cast<void>(co_await p.element(7).call<&cell::letters>(1));
    static_cast<void>(co_await take_whole(p));
    EXPECT_EQ(co_await p.element(7).call<&cell::letters>(3), "1b;2c;3d;");
  });
  latest.run(all, [&](cells_program& p) -> task<> {
    EXPECT_EQ(co_await p.element(7).call<&cell::letters>(3), "1b;2c;3d;");
    p.element(7).invoke<&cell::letter>(9, std::string("z"));
    EXPECT_EQ(co_await p.element(7).call<&cell::letters>(1), "9z;");
  });
}

TEST_P(array_checkpoint, finds_elements_that_have_migrated) {
  std::vector<std::string> at_2;
  anew.run(all, [&](cells_program& p) -> task<> {
    co_await p.advance_to(2);
    const int workers = int(total_worker_count(*runtime::current()));
    for (int i = 0; i < p.size(); i += 2) p.element(i).invoke<&cell::go>((i * 5 + 1) % workers);
    co_await quiescence();
    at_2 = co_await p.contents();
    static_cast<void>(co_await take_whole(p));
  });
  latest.run(all, [&](cells_program& p) -> task<> {
    EXPECT_EQ(co_await p.contents(), at_2);
    auto& rt = *runtime::current();
    if (rt.service<detail::object_space>().forces_migrations()) co_return;
    const int workers = int(total_worker_count(rt));
    for (int i = 0; i < p.size(); ++i)
      EXPECT_EQ(co_await p.element(i).call<&cell::place>(), i * workers / p.size()) << i;
  });
}

TEST_P(array_checkpoint, lets_insertions_and_destructions_go_on) {
  anew.run(all, [&](cells_program& p) -> task<> {
    p.words[0].insert("old", std::string("old"));
    p.words[0].insert("gone", std::string("gone"));
    p.words[0]["gone"].destroy();
    p.element(3).destroy();
    static_cast<void>(co_await take_whole(p));
  });
  latest.run(all, [&](cells_program& p) -> task<> {
    auto early = p.words[0]["new"].call<&word::text>();
    p.words[0].insert("new", std::string("new"));
    p.words[0].done_inserting();
    EXPECT_EQ(co_await std::move(early), "new");
    EXPECT_EQ(co_await p.words[0]["old"].call<&word::text>(), "old");
    auto gone = p.words[0]["gone"].call<&word::text>();
    EXPECT_THROW(static_cast<void>(co_await std::move(gone)), no_such_element);
    auto digest = p.element(3).call<&cell::digest>();
    EXPECT_THROW(static_cast<void>(co_await std::move(digest)), no_such_element);
  });
}

TEST_P(array_checkpoint, keeps_the_newest_and_counts_on_after_a_restart) {
  anew.run(all, [&](cells_program& p) -> task<> {
    for (int i = 1; i <= 4; ++i) {
      co_await p.advance_to(i);
      EXPECT_EQ(co_await take_whole(p), std::uint64_t(i));
    }
  });
  EXPECT_FALSE(std::filesystem::exists(scratch.path() + "/checkpoint.000002"));
  program{scratch.path(), "3"}.run(all, [&](cells_program& p) -> task<> {
    EXPECT_EQ(p.saved.number(), 3u);
    EXPECT_EQ(*p.step, 3);
    EXPECT_EQ(co_await take_whole(p), 5u);
  });
  anew.run(all, [&](cells_program& p) -> task<> {
    EXPECT_FALSE(p.saved.is_restart());
    EXPECT_EQ(*p.step, 0);
    EXPECT_EQ(co_await take_whole(p), 6u);
  });
}

/// Changes one byte of a file.
void damage(const std::string& path) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(70);
  file.put('\x55');
  ASSERT_TRUE(file.good()) << path;
}

TEST_P(array_checkpoint, uses_the_one_before_a_damaged_one) {
  const std::vector<std::string> at_1 = take_two();
  damage(scratch.path() + "/checkpoint.000002/share.00000" + std::to_string(all.ranks - 1));
  testing::internal::CaptureStderr();
  latest.run(all, [&](cells_program& p) -> task<> {
    EXPECT_EQ(p.saved.number(), 1u);
    EXPECT_EQ(co_await p.contents(), at_1);
  });
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("checkpoint.000002 is not used: "), std::string::npos) << said;
}

/// Lets a file name the version of a later program in its header.
void make_newer(const std::string& path) {
  std::array<std::byte, detail::sealed_size> header;
  constexpr std::size_t sum_at = detail::sealed_size - sizeof(std::uint64_t);
  const std::uint32_t version = detail::checkpoint_version + 1;
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.read(reinterpret_cast<char*>(header.data()), header.size());
  std::memcpy(header.data() + detail::share_magic.size(), &version, sizeof version);
  const std::uint64_t sum = detail::checksum_of(std::span(header).first(sum_at));
  std::memcpy(header.data() + sum_at, &sum, sizeof sum);
  file.seekp(0);
  file.write(reinterpret_cast<const char*>(header.data()), header.size());
  ASSERT_TRUE(file.good()) << path;
}

TEST_P(array_checkpoint, uses_the_one_before_a_newer_one) {
  const std::vector<std::string> at_1 = take_two();
  const std::string newer = scratch.path() + "/checkpoint.000002";
  const std::string reason =
      "its format has version " + std::to_string(detail::checkpoint_version + 1);
  // First one share has a later version, then all files have it.
  std::vector<std::string> files{"share.00000" + std::to_string(all.ranks - 1), "manifest"};
  for (int r = 0; r + 1 < all.ranks; ++r) files.push_back("share.00000" + std::to_string(r));
  for (std::size_t changed = 1; changed <= files.size(); ++changed) {
    make_newer(newer + "/" + files[changed - 1]);
    testing::internal::CaptureStderr();
    latest.run(all, [&](cells_program& p) -> task<> {
      EXPECT_EQ(p.saved.number(), 1u);
      EXPECT_EQ(*p.step, 1);
      EXPECT_EQ(co_await p.contents(), at_1);
    });
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_NE(said.find("checkpoint.000002 is not used: "), std::string::npos) << said;
    EXPECT_NE(said.find(reason), std::string::npos) << said;
  }
  // Checkpoints of this program replace the older ones, but not that of the later program.
  testing::internal::CaptureStderr();
  latest.run(all, [&](cells_program& p) -> task<> {
    for (std::uint64_t number = 3; number <= 5; ++number) EXPECT_EQ(co_await take_whole(p), number);
  });
  static_cast<void>(testing::internal::GetCapturedStderr());
  EXPECT_FALSE(std::filesystem::exists(scratch.path() + "/checkpoint.000001"));
  for (const std::string& file : files)
    EXPECT_TRUE(std::filesystem::exists(newer + "/" + file)) << file;
  testing::internal::CaptureStderr();
  const auto ends = all.run([&](runtime& rt) -> task<int> {
    static_cast<void>(co_await checkpoints::open(rt, scratch.path(), {2, "", "2"}));
    co_return 0;
  });
  static_cast<void>(testing::internal::GetCapturedStderr());
  const std::string error = cluster::text_of(ends[0]);
  EXPECT_NE(error.find(reason), std::string::npos) << error;
}

TEST_P(array_checkpoint, delivers_messages_sent_before_the_load_after_it) {
  std::vector<std::string> at_2;
  anew.run(all, [&](cells_program& p) -> task<> {
    co_await p.advance_to(2);
    at_2 = co_await p.contents();
    static_cast<void>(co_await take_whole(p));
  });
  all.expect(0, [&](runtime& rt) -> task<int> { return early_messages(rt, at_2); });
}

TEST_P(array_checkpoint, begins_anew_where_none_is) {
  latest.run(all, [&](cells_program& p) -> task<> {
    EXPECT_FALSE(p.saved.is_restart());
    EXPECT_EQ(p.saved.number(), 0u);
    co_await p.advance_to(1);
  });
}

}  // namespace
}  // namespace starling
