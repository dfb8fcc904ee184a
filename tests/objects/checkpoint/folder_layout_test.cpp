// SPDX-License-Identifier: Apache-2.0
// Which rank keeps the copy of which other one, and which rank leads a folder.
#include <gtest/gtest.h>

#include <algorithm>

#include "objects/checkpoint/folder_layout.hpp"

namespace starling {
namespace {

using detail::folder_layout;
using detail::layout_of;
using detail::partners_of;
using detail::rank_view;
using numbers = std::vector<std::uint32_t>;
using ranks = std::vector<int>;

TEST(checkpoint_partners, are_the_next_ranks_on_one_host) {
  EXPECT_EQ(partners_of(numbers{0, 0, 0, 0}, numbers{0, 1, 2, 3}), (ranks{1, 2, 3, 0}));
  EXPECT_EQ(partners_of(numbers{0, 0}, numbers{0, 1}), (ranks{1, 0}));
}

TEST(checkpoint_partners, are_on_another_host_where_there_is_one) {
  EXPECT_EQ(partners_of(numbers{0, 0, 1, 1}, numbers{0, 0, 1, 1}), (ranks{2, 3, 0, 1}));
  EXPECT_EQ(partners_of(numbers{0, 1, 0, 1}, numbers{0, 1, 2, 3}), (ranks{1, 2, 3, 0}));
  // One host has most ranks: those of the other one get more copies.
  const auto uneven = partners_of(numbers{0, 0, 0, 0, 1}, numbers{0, 0, 0, 0, 1});
  EXPECT_EQ(uneven, (ranks{4, 4, 4, 4, 0}));
}

TEST(checkpoint_partners, do_not_exist_where_all_see_one_folder) {
  EXPECT_EQ(partners_of(numbers{0}, numbers{0}), (ranks{-1}));
  EXPECT_EQ(partners_of(numbers{0, 1, 2}, numbers{0, 0, 0}), (ranks{-1, -1, -1}));
}

TEST(checkpoint_partners, have_other_folders_and_equally_many_copies) {
  for (std::uint32_t hosts = 1; hosts <= 6; ++hosts)
    for (std::uint32_t each = 1; each <= 5; ++each)
      for (const bool is_by_host : {true, false}) {
        numbers host, folder;
        for (std::uint32_t r = 0; r < hosts * each; ++r) {
          host.push_back(r / each);
          folder.push_back(is_by_host ? r / each : r);
        }
        const auto partners = partners_of(host, folder);
        std::vector<int> copies(partners.size());
        for (std::size_t r = 0; r < partners.size(); ++r) {
          if (partners[r] < 0) continue;
          const auto p = std::size_t(partners[r]);
          ++copies[p];
          EXPECT_NE(folder[p], folder[r]);
          EXPECT_EQ(host[p] == host[r], hosts == 1) << hosts << " hosts of " << each;
        }
        const bool have_some = hosts > 1 || (!is_by_host && each > 1);
        EXPECT_EQ(*std::ranges::min_element(copies), have_some ? 1 : 0) << hosts << " of " << each;
        EXPECT_EQ(*std::ranges::max_element(copies), have_some ? 1 : 0) << hosts << " of " << each;
      }
}

rank_view view(const char* host, std::uint64_t id, std::vector<detail::seen_folder> others = {}) {
  return {host, "boot", {id, "/at/" + std::to_string(id)}, std::move(others)};
}

TEST(checkpoint_layout, has_one_lead_for_a_folder_that_several_ranks_see) {
  const std::vector<rank_view> views = {view("a", 5), view("a", 5), view("b", 6), view("b", 6)};
  const folder_layout of = layout_of(views);
  ASSERT_EQ(of.folders.size(), 2u);
  EXPECT_EQ(of.folders[0].lead, 0);
  EXPECT_EQ(of.folders[1].lead, 2);
  EXPECT_EQ(of.of_rank, (numbers{0, 0, 1, 1}));
  EXPECT_EQ(of.members(1), (ranks{2, 3}));
  EXPECT_EQ(of.partners, (ranks{2, 3, 0, 1}));
}

TEST(checkpoint_layout, gives_folders_of_earlier_ranks_to_ranks_that_see_them) {
  // Folders 3 to 6 are left by a run on more ranks; folder 2 is that of rank 1, seen by rank 0,
  // too.
  const std::vector<rank_view> views = {
      view("a", 1, {{2, "/at/2"}, {3, "/at/3"}, {4, "/at/4"}, {5, "/at/5"}}),
      view("a", 2, {{1, "/at/1"}, {3, "/at/3"}, {4, "/at/4"}, {5, "/at/5"}, {6, "/x/6"}})};
  const folder_layout of = layout_of(views);
  ASSERT_EQ(of.folders.size(), 6u);
  EXPECT_EQ(of.of_rank, (numbers{0, 1}));
  int of_first = 0;
  for (std::size_t f = 2; f < 6; ++f) {
    EXPECT_FALSE(of.folders[f].is_own);
    of_first += of.folders[f].lead == 0 ? 1 : 0;
    EXPECT_EQ(of.members(std::uint32_t(f)), ranks{of.folders[f].lead});
  }
  EXPECT_EQ(of_first, 2);
  EXPECT_EQ(of.folders[5].path, "/x/6");
  EXPECT_EQ(of.folders[5].lead, 1);
}

TEST(checkpoint_layout, names_the_copies_that_are_missing) {
  using detail::missing_copies;
  using detail::missing_copy;
  using copies = std::vector<missing_copy>;
  const std::vector<rank_view> views = {view("a", 1), view("a", 2), view("a", 3, {{9, "/at/9"}})};
  const folder_layout of = layout_of(views);  // folder 3 is what an earlier rank 3 has left
  using holders = std::vector<numbers>;
  EXPECT_EQ(missing_copies(of, numbers{0, 1, 2}, holders{{0, 1}, {1, 2}, {2, 0}}), copies{});
  // The folder of rank 1 was lost: it gets its share, and the copy of that of rank 0.
  EXPECT_EQ(missing_copies(of, numbers{0, 2, 2}, holders{{0}, {2}, {2, 0}}),
            (copies{{0, 0, 1}, {1, 2, 1}}));
  // Shares of ranks that are no longer there.
  EXPECT_EQ(missing_copies(of, numbers{0, 1, 2, 3, 1}, holders{{0, 1}, {1, 2}, {2, 0}, {3}, {1}}),
            (copies{{3, 3, 0}, {4, 1, 2}}));
  const std::vector<rank_view> alone = {view("a", 1)};
  EXPECT_EQ(missing_copies(layout_of(alone), numbers{0}, holders{{0}}), copies{});
}

}  // namespace
}  // namespace starling
