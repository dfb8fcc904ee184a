// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <vector>

#include <gtest/gtest.h>

#include "device/transfers.hpp"

namespace starling::detail {
namespace {

std::byte from[100];
std::byte to[100];

transfer piece(std::size_t target, std::size_t source, std::size_t bytes) {
  return {to + target, from + source, bytes};
}

std::vector<transfer> merged(std::vector<transfer> list) {
  list.resize(merge_adjacent(list));
  return list;
}

using pieces = std::vector<transfer>;

TEST(transfers, adjacent_at_source_and_target_become_one) {
  EXPECT_EQ(merged({piece(0, 0, 10), piece(10, 10, 20), piece(30, 30, 1)}),
            pieces{piece(0, 0, 31)});
}

TEST(transfers, may_be_given_in_any_order) {
  EXPECT_EQ(merged({piece(30, 30, 1), piece(0, 0, 10), piece(10, 10, 20)}),
            pieces{piece(0, 0, 31)});
}

TEST(transfers, adjacent_at_one_end_only_stay_separate) {
  EXPECT_EQ(merged({piece(0, 0, 10), piece(10, 11, 10)}),
            (pieces{piece(0, 0, 10), piece(10, 11, 10)}));
  EXPECT_EQ(merged({piece(0, 0, 10), piece(11, 10, 10)}),
            (pieces{piece(0, 0, 10), piece(11, 10, 10)}));
  EXPECT_EQ(merged({piece(10, 0, 10), piece(0, 10, 10)}),
            (pieces{piece(10, 0, 10), piece(0, 10, 10)}));
}

TEST(transfers, from_one_source_to_several_targets_stay_separate) {
  EXPECT_EQ(merged({piece(0, 5, 10), piece(50, 5, 10)}).size(), 2u);
}

TEST(transfers, of_one_or_no_piece_stay_unchanged) {
  EXPECT_EQ(merged({}), pieces{});
  EXPECT_EQ(merged({piece(3, 4, 5)}), pieces{piece(3, 4, 5)});
}

}  // namespace
}  // namespace starling::detail
