// SPDX-License-Identifier: Apache-2.0
// Which checkpoint the folders of several ranks have together.
#include <gtest/gtest.h>

#include <filesystem>
#include <optional>

#include "objects/checkpoint/folder_names.hpp"
#include "objects/checkpoint/inventory.hpp"
#include "samples.hpp"
#include "support/scratch_folder.hpp"

namespace starling {
namespace {

using namespace starling_test;
using detail::candidate;
using detail::candidates_of;
using detail::checkpoint_fault;
using detail::describe_missing;
using detail::held_checkpoint;
using detail::inventory;
using detail::inventory_of;
using detail::retention_of;
using shares = std::vector<std::uint32_t>;

/// A complete checkpoint of four shares in a folder.
held_checkpoint held(std::uint64_t number, shares here, std::uint64_t stamp = 1,
                     std::int64_t time = 0) {
  held_checkpoint h;
  h.number = number;
  h.is_complete = true;
  h.stamp = stamp;
  h.time_ns = time;
  h.shares = 4;
  h.held = std::move(here);
  return h;
}
held_checkpoint without_manifest(std::uint64_t number) {
  held_checkpoint h;
  h.number = number;
  h.refused_manifest = {0, checkpoint_fault::torn, "no manifest"};
  return h;
}
/// Returns the number of the newest usable one.
std::optional<std::uint64_t> newest(const std::vector<inventory>& folders) {
  for (const candidate& c : candidates_of(folders))
    if (c.is_usable()) return c.number;
  return {};
}

TEST(checkpoint_choice, takes_the_newest_of_which_every_share_is_somewhere) {
  const std::vector<inventory> all = {{held(1, {0, 3}), held(2, {0, 3})},
                                      {held(1, {1, 0}), held(2, {1, 0})},
                                      {held(1, {2, 1}), held(2, {2, 1})},
                                      {held(1, {3, 2}), held(2, {3, 2})}};
  EXPECT_EQ(newest(all), 2u);
  // Any one folder may be lost, and two that have no share in common.
  for (std::size_t lost = 0; lost < all.size(); ++lost) {
    auto left = all;
    left[lost].clear();
    EXPECT_EQ(newest(left), 2u) << lost;
    left[(lost + 2) % 4].clear();
    EXPECT_EQ(newest(left), 2u) << lost;
    left = all;
    left[lost].clear();
    left[(lost + 1) % 4].pop_back();  // has the copy of share `lost` of checkpoint 2
    EXPECT_EQ(newest(left), 1u) << lost;
  }
  EXPECT_EQ(newest({}), std::nullopt);
  EXPECT_EQ(newest({{held(1, {0, 1, 2})}}), std::nullopt);
}

TEST(checkpoint_choice, names_the_folders_that_have_a_share) {
  const std::vector<inventory> all = {{held(5, {0, 3})}, {}, {held(5, {2, 1})}, {held(5, {3, 2})}};
  const auto found = candidates_of(all);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_TRUE(found[0].is_usable());
  EXPECT_EQ(found[0].holders, (std::vector<shares>{{0}, {2}, {2, 3}, {0, 3}}));
  EXPECT_EQ(found[0].manifests, (shares{0, 2, 3}));
}

TEST(checkpoint_choice, does_not_mix_two_checkpoints_with_the_same_number) {
  // Folder 1 is of an older run.
  const std::vector<inventory> all = {{held(7, {0, 1}, 10, 900), held(8, {0, 1}, 11, 1000)},
                                      {held(7, {2, 3}, 10, 900), held(8, {2, 3}, 99, 50)}};
  EXPECT_EQ(newest(all), 7u);
  const auto found = candidates_of(all);
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[0].stamp, 11u);  // of the same number the later one
  EXPECT_EQ(found[1].stamp, 99u);
  const shares missing = {found[0].refused.at(0).share, found[0].refused.at(1).share};
  EXPECT_EQ(missing, (shares{2, 3}));
}

TEST(checkpoint_choice, refuses_a_number_without_any_manifest) {
  const std::vector<inventory> all = {{held(1, {0, 1, 2, 3}), without_manifest(2)},
                                      {without_manifest(2)}};
  EXPECT_EQ(newest(all), 1u);
  const auto found = candidates_of(all);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].number, 2u);
  EXPECT_EQ(found[0].refused.at(0).reason, "no manifest");
  EXPECT_EQ(detail::largest_number(all), 2u);
  // One folder without manifest does not matter where another one has it.
  EXPECT_EQ(newest({{held(3, {0, 1, 2, 3})}, {without_manifest(3)}}), 3u);
}

TEST(checkpoint_choice, says_where_missing_shares_should_be) {
  const std::vector<inventory> all = {{held(4, {0, 1, 3})}};
  detail::manifest of;
  of.folders = {{1, 0, "a", "/m/0"}, {2, 1, "b", "/m/1"}, {3, 2, "c", "/m/2"}};
  of.holders = {{0}, {1}, {1, 2}, {0}};
  const auto found = candidates_of(all);
  EXPECT_EQ(describe_missing(found.at(0), of),
            "share.000002 is gone: it is not in '/m/1' (rank 1 on b) nor in '/m/2' (rank 2 on c)");
  auto seen = all;
  seen[0][0].missing = {{2, checkpoint_fault::torn, "'/m/1/share.000002' refused"}};
  EXPECT_EQ(describe_missing(candidates_of(seen).at(0), of), "'/m/1/share.000002' refused");
}

TEST(checkpoint_choice, names_a_share_that_is_not_where_its_manifest_says) {
  std::vector<inventory> all = {{held(1, {0, 1}), held(2, {0, 1})},
                                {held(1, {2, 3, 0}), held(2, {2, 3})}};
  EXPECT_FALSE(detail::missing_in(all, 2, 1));
  all[1][0].missing = {{1, checkpoint_fault::torn, "of an older one"}};
  all[1][1].missing = {{1, checkpoint_fault::torn, "'share.000001' refused"}};
  EXPECT_FALSE(detail::missing_in(all, 2, 7)) << "another stamp";
  const auto found = detail::missing_in(all, 2, 1);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->fault(), checkpoint_fault::torn);
  EXPECT_EQ(std::string(found->what()).find("'share.000001' refused; "), 0u) << found->what();
  EXPECT_TRUE(candidates_of(all).front().is_usable()) << "by the other copy";
}

TEST(checkpoint_choice, keeps_as_many_usable_ones_as_asked) {
  const std::vector<inventory> all = {
      {held(1, {0, 1}), held(2, {0, 1}), held(3, {0, 1}), held(4, {0, 1})},
      {held(1, {2, 3}), held(2, {2, 3}), held(3, {2}), held(4, {2, 3})}};
  const auto bounds = [&](std::size_t count) {
    const auto r = retention_of(all, count);
    return std::pair(r.oldest, r.newest);
  };
  EXPECT_EQ(bounds(0), std::pair(4ul, 4ul));
  EXPECT_EQ(bounds(1), std::pair(4ul, 4ul));
  EXPECT_EQ(bounds(2), std::pair(2ul, 4ul));  // 3 is not usable
  EXPECT_EQ(bounds(3), std::pair(1ul, 4ul));
  EXPECT_EQ(bounds(4), std::pair(0ul, 4ul));
}

/// Folders of ranks, written as by the ranks of a run.
class checkpoint_folders : public testing::Test {
 protected:
  static constexpr std::uint32_t ranks = 3;
  [[nodiscard]] std::string path(std::uint32_t rank) const {
    return scratch.path() + "/" + std::to_string(rank);
  }
  /// Writes a checkpoint with a copy of each share in the next folder.
  void write(const sample& s) {
    std::vector<share_summary> all;
    detail::manifest done;
    std::vector<detail::share_folder> folders;
    for (std::uint32_t r = 0; r < ranks; ++r) {
      checkpoint_folder folder(path(r));
      folder.make();
      folders.push_back({detail::make_folder_id(path(r)), r, "here", path(r)});
      all.push_back(folder.write_share(s.identity(r), [&](share_writer& to) { s.fill(to, r); }));
    }
    for (std::uint32_t r = 0; r < ranks; ++r)
      std::filesystem::copy(file(s.number, r, r), file(s.number, (r + 1) % ranks, r));
    done = s.with(all);
    done.folders = folders;
    done.holders = {{0, 1}, {1, 2}, {2, 0}};
    for (std::uint32_t r = 0; r < ranks; ++r) checkpoint_folder(path(r)).complete(done);
  }
  [[nodiscard]] std::string file(std::uint64_t number, std::uint32_t folder,
                                 std::uint32_t share) const {
    return path(folder) + "/" + detail::checkpoint_name(number) + "/" + detail::share_name(share);
  }
  [[nodiscard]] std::vector<inventory> all() const {
    std::vector<inventory> found;
    for (std::uint32_t r = 0; r < ranks; ++r) found.push_back(inventory_of(path(r)));
    return found;
  }
  starling_test::scratch_folder scratch;
};

TEST_F(checkpoint_folders, are_listed_with_their_shares) {
  write({.number = 1, .ranks = ranks});
  const auto found = all();
  EXPECT_EQ(found[0].at(0).held, (shares{0, 2}));
  EXPECT_EQ(found[1].at(0).held, (shares{0, 1}));
  EXPECT_EQ(found[2].at(0).held, (shares{1, 2}));
  for (const inventory& of : found) EXPECT_TRUE(of.at(0).missing.empty());
  EXPECT_EQ(newest(found), 1u);
}

TEST_F(checkpoint_folders, may_lose_one_of_two_copies) {
  write({.number = 1, .ranks = ranks});
  write({.number = 2, .ranks = ranks});
  std::filesystem::remove(file(2, 0, 0));
  std::filesystem::resize_file(file(2, 2, 1), 100);
  const auto found = all();
  EXPECT_EQ(newest(found), 2u);
  ASSERT_EQ(found[0].at(1).missing.size(), 1u);
  EXPECT_EQ(found[0].at(1).missing[0].fault, checkpoint_fault::torn);
  EXPECT_NE(found[2].at(1).missing[0].reason.find(file(2, 2, 1)), std::string::npos);
  std::filesystem::remove(file(2, 1, 0));
  EXPECT_EQ(newest(all()), 1u);
  const auto both = candidates_of(all());
  const std::string text =
      describe_missing(both.at(0), detail::checkpoint_reader(path(0), 2).contents());
  EXPECT_NE(text.find(file(2, 0, 0)), std::string::npos) << text;
  EXPECT_NE(text.find(file(2, 1, 0)), std::string::npos) << text;
}

TEST_F(checkpoint_folders, may_be_lost_whole) {
  write({.number = 1, .ranks = ranks});
  std::filesystem::remove_all(path(1));
  EXPECT_EQ(newest(all()), 1u);
  std::filesystem::remove_all(path(2));
  EXPECT_EQ(newest(all()), std::nullopt);
  const auto found = candidates_of(all());
  EXPECT_EQ(describe_missing(found.at(0), detail::checkpoint_reader(path(0), 1).contents()),
            "share.000001 is gone: it is not in '" + path(1) + "' (rank 1 on here) nor in '" +
                path(2) + "' (rank 2 on here)");
}

TEST_F(checkpoint_folders, of_other_ranks_have_shares_that_are_not_asked_for) {
  // A share that the manifest places elsewhere is used, too.
  write({.number = 1, .ranks = ranks});
  std::filesystem::copy(file(1, 1, 1), file(1, 0, 1));
  EXPECT_EQ(inventory_of(path(0)).at(0).held, (shares{0, 1, 2}));
}

TEST_F(checkpoint_folders, are_found_by_their_pattern) {
  for (const char* name : {"0", "7", "12", "x", "7x"})
    std::filesystem::create_directory(scratch.path() + "/" + name);
  write_file(scratch.path() + "/3", bytes(2));
  using paths = std::vector<std::string>;
  const std::string& at = scratch.path();
  EXPECT_EQ(detail::matching_folders(at + "/{rank}"), (paths{at + "/0", at + "/12", at + "/7"}));
  EXPECT_EQ(detail::matching_folders(at + "/{rank}x"), (paths{at + "/7x"}));
  EXPECT_EQ(detail::matching_folders(at), paths{});
  std::filesystem::create_directories(at + "/host-a/run.4");
  EXPECT_EQ(detail::matching_folders(at + "/{host}/run.{rank}"), (paths{at + "/host-a/run.4"}));
  EXPECT_EQ(detail::matching_folders(at + "/none/{rank}"), paths{});
  EXPECT_EQ(detail::folder_path("/a/{host}/{rank}.{rank}", 3, "h"), "/a/h/3.3");
}

TEST_F(checkpoint_folders, have_one_id_for_all_that_see_them) {
  EXPECT_EQ(detail::folder_id(path(0)), 0u);
  checkpoint_folder(path(0)).make();
  checkpoint_folder(path(1)).make();
  EXPECT_EQ(detail::folder_id(path(0)), 0u);
  const auto id = detail::make_folder_id(path(0));
  EXPECT_NE(id, 0u);
  EXPECT_EQ(detail::make_folder_id(path(0)), id);
  EXPECT_EQ(detail::folder_id(path(0)), id);
  EXPECT_NE(detail::make_folder_id(path(1)), id);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(path(0)), {}), 1);
  write_file(path(0) + "/" + detail::folder_id_name, bytes(4));
  EXPECT_THROW(static_cast<void>(detail::folder_id(path(0))), checkpoint_error);
}

TEST_F(checkpoint_folders, are_removed_with_their_id_only_if_nothing_else_is_there) {
  write({.number = 1, .ranks = ranks});
  checkpoint_folder folder(path(0));
  folder.remove_if_empty();
  EXPECT_TRUE(std::filesystem::exists(file(1, 0, 0)));
  folder.remove_older({2, 2}, true);
  folder.remove_if_empty();
  EXPECT_FALSE(std::filesystem::exists(path(0)));
}

}  // namespace
}  // namespace starling
