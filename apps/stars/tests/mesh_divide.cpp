// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <vector>

#include "mesh/divide.hpp"
#include "mesh/part_plan.hpp"
#include "tests/physics_support.hpp"

namespace stars::test {
namespace {

using weights_of = std::vector<std::int64_t>;

/// Returns the weight of the heaviest part; fails for parts that are empty or not in order.
std::int64_t heaviest(const weights_of& weights, const std::vector<int>& first) {
  std::int64_t most = 0;
  EXPECT_EQ(first.front(), 0);
  for (std::size_t p = 0; p < first.size(); ++p) {
    const int end = p + 1 < first.size() ? first[p + 1] : int(weights.size());
    EXPECT_LT(first[p], end);
    most = std::max(
        most, std::accumulate(weights.begin() + first[p], weights.begin() + end, std::int64_t{0}));
  }
  return most;
}

/// Returns the smallest weight of a heaviest part, of all divisions of weights[begin …].
std::int64_t smallest(const weights_of& weights, std::size_t begin, int parts) {
  if (parts == 1)
    return std::accumulate(weights.begin() + std::ptrdiff_t(begin), weights.end(), std::int64_t{0});
  std::int64_t best = std::numeric_limits<std::int64_t>::max(), first = 0;
  for (std::size_t end = begin + 1; end + std::size_t(parts) - 1 <= weights.size(); ++end) {
    first += weights[end - 1];
    best = std::min(best, std::max(first, smallest(weights, end, parts - 1)));
  }
  return best;
}

TEST(divide, makes_the_heaviest_part_as_light_as_possible) {
  generator random(11);
  for (int i = 0; i < 300; ++i) {
    weights_of weights(1 + std::size_t(random() * 9));
    const double range = i % 3 == 0 ? 3.0 : 100.0;  // with many zeros and ones, too
    for (std::int64_t& w : weights) w = std::int64_t(range * random() * random());
    for (int parts = 1; parts <= int(weights.size()); ++parts) {
      const std::vector<int> first = divide(weights, parts);
      ASSERT_EQ(first.size(), std::size_t(parts));
      ASSERT_EQ(heaviest(weights, first), smallest(weights, 0, parts));
    }
  }
}

TEST(divide, gives_equal_weights_the_division_of_the_uniform_mesh) {
  for (int level = 0; level <= 2; ++level) {
    const mesh grid{level};
    for (const std::int64_t weight : {0, 1, 1'000'003})
      for (int parts = 1; parts <= grid.subgrid_count(); ++parts) {
        const weights_of weights(std::size_t(grid.subgrid_count()), weight);
        const std::vector<int> first = divide(weights, parts);
        ASSERT_EQ(first, equal_parts(grid.subgrid_count(), parts));
      }
  }
}

TEST(divide, is_near_equal_shares_for_many_leaves) {
  generator random(13);
  weights_of weights(20000);
  for (std::int64_t& w : weights) w = 1000 + std::int64_t(9000.0 * random());
  const std::int64_t sum = std::accumulate(weights.begin(), weights.end(), std::int64_t{0});
  for (const int parts : {2, 7, 64, 1000})
    EXPECT_LE(heaviest(weights, divide(weights, parts)), sum / parts + 10000);
}

TEST(divide, gives_each_part_a_leaf_beside_one_heavy_leaf) {
  EXPECT_EQ(divide(weights_of{100, 0, 0, 0}, 4), (std::vector<int>{0, 1, 2, 3}));
  EXPECT_EQ(divide(weights_of{0, 0, 0, 100}, 4), (std::vector<int>{0, 1, 2, 3}));
  EXPECT_EQ(divide(weights_of{1, 1, 100, 1, 1}, 3), (std::vector<int>{0, 2, 3}));
}

TEST(divide, refuses_wrong_arguments) {
  const weights_of three{1, 2, 3};
  EXPECT_THROW((void)divide(three, 0), std::invalid_argument);
  EXPECT_THROW((void)divide(three, 4), std::invalid_argument);
  EXPECT_THROW((void)divide({}, 1), std::invalid_argument);
  EXPECT_THROW((void)divide(weights_of{1, -1}, 1), std::invalid_argument);
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(divide(weights_of{most - 1, 1}, 1), (std::vector<int>{0}));
  EXPECT_THROW((void)divide(weights_of{most, 1}, 1), std::invalid_argument);
  EXPECT_THROW((void)divide(weights_of{most / 2, 2}, 2), std::invalid_argument);
}

}  // namespace
}  // namespace stars::test
