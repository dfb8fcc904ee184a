// SPDX-License-Identifier: Apache-2.0
// Checkpoints whose ranks have folders of their own: states come from the ranks that have them, and
// with second copies folders may be lost.
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <sys/resource.h>

#include <starling/core.hpp>
#include <starling/objects.hpp>

#include "private_checkpoint.hpp"
#include "support/scratch_folder.hpp"

namespace starling {
namespace {

using starling_test::cells_program;
using starling_test::cluster;
using starling_test::over_ucx;
using starling_test::private_checkpoint;

INSTANTIATE_TEST_SUITE_P(on, private_checkpoint,
                         testing::Values(cluster{2, 2}, cluster{4, 1}, over_ucx({3, 1})),
                         starling_test::cluster_name);

TEST_P(private_checkpoint, has_each_share_in_the_folders_of_two_ranks) {
  take(1);
  for (int r = 0; r < all.ranks; ++r)
    for (int of = 0; of < all.ranks; ++of)
      EXPECT_EQ(has(1, r, of), of == r || next(of) == r) << r << ' ' << of;
  expect_restart(all, 1, 3);
}

TEST_P(private_checkpoint, has_each_share_once_without_copies) {
  take(1, 1);
  for (int r = 0; r < all.ranks; ++r)
    for (int of = 0; of < all.ranks; ++of) EXPECT_EQ(has(1, r, of), of == r) << r << ' ' << of;
  expect_restart(all, 1, 3, 1);
  lose(1);
  testing::internal::CaptureStderr();
  const auto ends = all.run([&](runtime& rt) -> task<int> {
    static_cast<void>(co_await checkpoints::open(rt, scratch.path() + "/{rank}", {2, "", "1"}));
    co_return 0;
  });
  static_cast<void>(testing::internal::GetCapturedStderr());
  expect_text(cluster::text_of(ends[0]), "share.000001 is gone: it is not in '" + folder(1));
}

TEST_P(private_checkpoint, survives_the_loss_of_any_folder) {
  for (int lost = 0; lost < all.ranks; ++lost) {
    std::filesystem::remove_all(scratch.path());
    take(2);
    lose(lost);
    EXPECT_EQ(expect_restart(all, 2, 4), "") << lost;
  }
}

TEST_P(private_checkpoint, has_two_copies_again_after_each_restart) {
  take(2);
  for (int lost = 0; lost < 2 * all.ranks; ++lost) {
    lose(lost % all.ranks);
    EXPECT_EQ(expect_restart(all, 2, 2), "") << lost;
    for (int r = 0; r < all.ranks; ++r)
      EXPECT_TRUE(has(2, r, r) && has(2, next(r), r)) << lost << ' ' << r;
  }
  damage(share(2, 0, 0));
  expect_text(expect_restart(all, 2, 4), "the copy of a share is used: ");
  EXPECT_EQ(expect_restart(all, 2, 4), "") << "replaced by the copy";
}

TEST_P(private_checkpoint, continues_without_second_copies_where_they_cannot_be_made) {
  take(2);
  lose(1);
  std::filesystem::create_directory(folder(1));
  std::ofstream(folder(1) + "/checkpoint.000002") << "a file where a folder should be";
  expect_text(expect_restart(all, 2, 4), "checkpoint.000002 remains without a second copy: ");
  std::filesystem::remove(folder(1) + "/checkpoint.000002");
  EXPECT_EQ(expect_restart(all, 2, 4), "");
  EXPECT_TRUE(has(2, 1, 1));
}

TEST_P(private_checkpoint, is_complete_if_one_folder_has_its_manifest) {
  // A run was killed after the first manifest.
  take(2);
  for (int r = 1; r < all.ranks; ++r)
    std::filesystem::remove(folder(r) + "/checkpoint.000002/manifest");
  EXPECT_EQ(expect_restart(all, 2, 4), "");
  lose(0);
  EXPECT_EQ(expect_restart(all, 2, 4), "");
  for (int r = 0; r < all.ranks; ++r)
    std::filesystem::remove(folder(r) + "/checkpoint.000002/manifest");
  EXPECT_EQ(expect_restart(all, 1, 4), "");
  EXPECT_FALSE(has(2, 0, 0));
}

TEST_P(private_checkpoint, is_not_completed_by_the_manifest_of_an_older_run) {
  take(2);
  const std::string old = scratch.path() + "/old";
  std::filesystem::rename(folder(0), old);
  for (int r = 1; r < all.ranks; ++r) lose(r);
  take(2);
  // Folder 0 is of the older run; the newer one was killed before any manifest.
  lose(0);
  std::filesystem::rename(old, folder(0));
  for (int r = 1; r < all.ranks; ++r)
    std::filesystem::remove(folder(r) + "/checkpoint.000002/manifest");
  // Of two ranks each folder has all shares.
  const std::string said = expect_restart(all, all.ranks == 2 ? 2 : 1, 4);
  EXPECT_EQ(said.find("checkpoint.000002 is not used: ") != said.npos, all.ranks > 2) << said;
  EXPECT_EQ(has(2, 1, 1), all.ranks == 2);
}

TEST_P(private_checkpoint, continues_on_other_numbers_of_ranks) {
  take(2);
  for (const cluster& other : {cluster{1, 2}, cluster{2, 1}, cluster{5, 1}}) {
    const std::string said = expect_restart(other, 2, 4);
    EXPECT_EQ(said.find("is not used"), said.npos) << said;
  }
  lose(0);
  expect_restart(cluster{2, 1}, 2, 4);
  lose(0);  // made again
  expect_restart(cluster{5, 2}, 2, 4);
}

TEST_P(private_checkpoint, uses_the_one_before_if_both_copies_of_a_share_are_lost) {
  take(2);
  std::filesystem::remove(share(2, 0, 0));
  std::filesystem::remove(share(2, 1, 0));
  const std::string said = expect_restart(all, 1, 4);
  expect_text(said, "checkpoint.000002 is not used: ");
  expect_text(said, share(2, 0, 0));
  expect_text(said, share(2, 1, 0));
}

TEST_P(private_checkpoint, fails_if_the_folders_of_both_copies_are_lost) {
  take(2);
  lose(0);
  lose(1);
  testing::internal::CaptureStderr();
  const auto ends = all.run([&](runtime& rt) -> task<int> {
    static_cast<void>(
        co_await checkpoints::open(rt, scratch.path() + "/{rank}", {2, "", "latest", 2}));
    co_return 0;
  });
  const std::string said = testing::internal::GetCapturedStderr();
  if (all.ranks == 2) {
    EXPECT_EQ(ends[0].status, 0) << "no folder is left";
    return;
  }
  expect_text(said, "checkpoint.000002 is not used: share.000000 is gone: it is not in '" +
                        folder(0) + "' (rank 0 on ");
  expect_text(said, "nor in '" + folder(1) + "' (rank 1 on ");
  expect_text(cluster::text_of(ends[0]), "no checkpoint in '" + scratch.path());
}

TEST_P(private_checkpoint, uses_the_copy_of_a_damaged_share) {
  take(2);
  damage(share(2, 1, 1));
  const std::string said = expect_restart(all, 2, 4);
  expect_text(said, "the copy of a share is used: ");
  expect_text(said, share(2, 1, 1));
  damage(share(2, 1, 1));  // it had been replaced
  damage(share(2, next(1), 1));
  const std::string second = expect_restart(all, 1, 4);
  expect_text(second, "checkpoint.000002 is not used: ");
}

TEST_P(private_checkpoint, mixes_in_no_folder_of_an_older_run) {
  // An older run, whose folder of rank 0 comes back after a new run has begun.
  take(3);
  const std::string old = scratch.path() + "/old";
  std::filesystem::rename(folder(0), old);
  for (int r = 1; r < all.ranks; ++r) lose(r);
  take(2);
  for (int number : {2, 3})
    std::filesystem::rename(old + "/checkpoint.00000" + std::to_string(number),
                            folder(0) + "/checkpoint.00000" + std::to_string(number + 1));
  std::filesystem::remove_all(folder(0) + "/checkpoint.000002");
  std::filesystem::rename(folder(0) + "/checkpoint.000003", folder(0) + "/checkpoint.000002");
  const std::string said = expect_restart(all, 2, 4);
  expect_text(said, "checkpoint.000004 is not used: ");
}

TEST_P(private_checkpoint, counts_on_and_removes_old_ones_in_all_folders) {
  take(2);
  lose(1);
  run(all, "latest", [&](cells_program& p) -> task<> {
    for (int step = 3; step <= 5; ++step) {
      co_await p.advance_to(step);
      auto written = co_await p.saved.take(std::uint64_t(step));
      EXPECT_EQ(co_await std::move(written), std::uint64_t(step));
      EXPECT_EQ(has(step - 2, 0, 0), false) << step;
    }
    contents[5] = co_await p.contents();
    co_await p.advance_to(6);
    contents[6] = co_await p.contents();
  });
  lose(0);
  expect_restart(all, 5, 6);
}

TEST_P(private_checkpoint, removes_folders_of_ranks_that_are_no_longer_there) {
  take(2);
  run(cluster{1, 1}, "latest", [&](cells_program& p) -> task<> {
    for (int step = 3; step <= 4; ++step) {
      EXPECT_TRUE(std::filesystem::exists(folder(all.ranks - 1)));
      co_await p.advance_to(step);
      auto written = co_await p.saved.take(std::uint64_t(step));
      static_cast<void>(co_await std::move(written));
    }
  });
  EXPECT_FALSE(std::filesystem::exists(folder(all.ranks - 1)));
  EXPECT_TRUE(has(4, 0, 0));
}

TEST_P(private_checkpoint, is_removed_everywhere_if_a_copy_cannot_be_written) {
  const std::string said = run(all, "none", [&](cells_program& p) -> task<> {
    co_await p.advance_to(1);
    contents[1] = co_await p.contents();
    auto first = co_await p.saved.take(1);
    static_cast<void>(co_await std::move(first));
    // The copy of rank 0's share goes to a full disk.
    std::filesystem::create_directory(folder(1) + "/checkpoint.000002");
    std::filesystem::create_symlink("/dev/full", share(2, 1, 0) + ".writing");
    auto second = co_await p.saved.take(2);
    try {
      static_cast<void>(co_await std::move(second));
      ADD_FAILURE() << "written";
    } catch (const checkpoint_error& e) {
      expect_text(e.what(), "the copy of rank 0's share on rank 1: ");
      expect_text(e.what(), "No space left");
    }
    for (int r = 0; r < all.ranks; ++r)
      EXPECT_FALSE(std::filesystem::exists(folder(r) + "/checkpoint.000002")) << r;
    co_await p.advance_to(3);
    contents[3] = co_await p.contents();
    auto third = co_await p.saved.take(3);
    EXPECT_EQ(co_await std::move(third), 3u);
  });
  expect_text(said, "checkpoint.000002 was not written");
  lose(0);
  expect_restart(all, 3, 3);
}

TEST_P(private_checkpoint, has_no_second_copies_where_all_ranks_see_one_folder) {
  testing::internal::CaptureStderr();
  all.expect(0, [&](runtime& rt) -> task<int> {
    static_cast<void>(co_await checkpoints::open(rt, scratch.path(), {2, "", "none", 2}));
    co_return 0;
  });
  expect_text(testing::internal::GetCapturedStderr(),
              "no second copies, as all ranks see the same folder '" + scratch.path());
}

TEST_P(private_checkpoint, refuses_other_numbers_of_copies) {
  all.expect(0, [&](runtime& rt) -> task<int> {
    auto opening = checkpoints::open(rt, scratch.path(), {2, "", "none", 3});
    EXPECT_THROW(static_cast<void>(co_await std::move(opening)), option_error);
    co_return 0;
  });
}

/// Has more bytes than the pieces that are under way at a time.
struct heavy : chare<heavy> {
  explicit heavy(migrated) {}
  explicit heavy(std::size_t words) : m_words(words) {
    for (std::size_t i = 0; i < words; ++i)
      m_words[i] = starling_test::mixed(std::uint64_t(this_index()), i);
  }
  template <class Archive>
  void serialize(Archive& ar) {
    ar(m_words);
  }
  std::uint64_t digest() const {
    std::uint64_t d = 0;
    for (const std::uint64_t w : m_words) d = starling_test::mixed(d, w);
    return d;
  }

 private:
  std::vector<std::uint64_t> m_words;
};

class heavy_checkpoint : public starling_test::on_clusters {
 protected:
  /// `taken`: called with the checkpoints of a new run.
  task<int> rank_zero(runtime& rt, std::string restart, std::vector<std::uint64_t>& digests,
                      std::function<task<>(checkpoints&)> taken) const {
    auto saved = co_await checkpoints::open(rt, scratch.path() + "/{rank}", {1, "", restart, 2});
    const auto all =
        saved.create_array<heavy>("heavy", elements, placement::round_robin, std::size_t(300'000));
    const auto one =
        saved.create_array<heavy>("heaviest", 1, placement::block, std::size_t(1'500'001));
    co_await saved.load();
    digests.clear();
    for (int i = 0; i < elements; ++i) digests.push_back(co_await all[i].call<&heavy::digest>());
    digests.push_back(co_await one[0].call<&heavy::digest>());
    if (!saved.is_restart()) co_await taken(saved);
    co_return 0;
  }
  static task<> take(checkpoints& saved) {
    auto written = saved.take(1);
    auto number = co_await std::move(written);
    static_cast<void>(co_await std::move(number));
  }
  [[nodiscard]] std::string folder(int rank) const {
    return scratch.path() + "/" + std::to_string(rank) + "/checkpoint.000001";
  }
  /// Expects that a checkpoint fails after `limit`, that nothing of it is left, and that the next
  /// one is written after `lift`. Returns the text of the error.
  std::string expect_failure(const std::function<void()>& limit,
                             const std::function<void()>& lift) const {
    std::vector<std::uint64_t> before, after;
    std::string error;
    testing::internal::CaptureStderr();
    all.expect(0, [&](runtime& rt) {
      return rank_zero(rt, "none", before, [&](checkpoints& saved) -> task<> {
        limit();
        try {
          co_await take(saved);
        } catch (const checkpoint_error& e) {
          error = e.what();
        }
        lift();
        for (int r = 0; r < all.ranks; ++r) EXPECT_FALSE(std::filesystem::exists(folder(r))) << r;
        co_await take(saved);
      });
    });
    EXPECT_NE(testing::internal::GetCapturedStderr().find("was not written"), std::string::npos);
    all.expect(0, [&](runtime& rt) { return rank_zero(rt, "latest", after, take); });
    EXPECT_EQ(after, before);
    return error;
  }
  static constexpr int elements = 7;
  starling_test::scratch_folder scratch;
};
INSTANTIATE_TEST_SUITE_P(on, heavy_checkpoint, testing::Values(cluster{3, 2}, over_ucx({2, 1})),
                         starling_test::cluster_name);

TEST_P(heavy_checkpoint, travels_in_pieces) {
  std::vector<std::uint64_t> before, after;
  all.expect(0, [&](runtime& rt) { return rank_zero(rt, "none", before, take); });
  std::filesystem::remove_all(scratch.path() + "/1");
  all.expect(0, [&](runtime& rt) { return rank_zero(rt, "latest", after, take); });
  EXPECT_EQ(after, before);
  const cluster more{4, 1};
  more.expect(0, [&](runtime& rt) { return rank_zero(rt, "latest", after, take); });
  EXPECT_EQ(after, before);
}

/// Pieces have been sent when the own file reaches the limit, which is above all other shares.
TEST_P(heavy_checkpoint, is_removed_if_a_share_cannot_be_written_wholly) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit low{16'000'000, before.rlim_max};
  const std::string error =
      expect_failure([&] { EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &low), 0); },
                     [&] { EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0); });
  EXPECT_NE(error.find("ulimit -f"), error.npos) << error;
  EXPECT_EQ(error.find("the copy of"), error.npos) << error;
}

TEST_P(heavy_checkpoint, is_removed_if_the_disk_of_the_partner_is_full) {
  const std::string error = expect_failure(
      [&] {
        std::filesystem::create_directory(folder(1));
        std::filesystem::create_symlink("/dev/full", folder(1) + "/share.000000.writing");
      },
      [] {});
  EXPECT_NE(error.find("the copy of rank 0's share on rank 1: "), error.npos) << error;
  EXPECT_NE(error.find("No space left"), error.npos) << error;
}

}  // namespace
}  // namespace starling
