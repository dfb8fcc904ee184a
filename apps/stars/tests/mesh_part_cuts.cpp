// SPDX-License-Identifier: Apache-2.0
// The parts of the next tree follow the measured times, and stay where that gains little.
#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "mesh/part_cuts.hpp"
#include "mesh/part_plan.hpp"
#include "tests/mesh_support.hpp"

namespace stars::test {
namespace {

using cuts = std::vector<int>;
using times = std::vector<double>;

/// A tree, the next one, and the parts of the present one.
struct change {
  octree before, after;
  cuts now;
  std::vector<int> from = origins_of(plan_regrid(before, after), after.leaf_count());

  [[nodiscard]] division_input input() const { return {from, now, before.leaf_count()}; }
  [[nodiscard]] cuts next(const times& seconds) const { return next_parts(input(), seconds); }
};

change unchanged(int level, cuts now) {
  return {octree::uniform(level), octree::uniform(level), std::move(now)};
}

TEST(part_of, is_the_part_with_the_last_first_leaf_before) {
  const cuts first{0, 3, 4, 9};
  const int expected[] = {0, 0, 0, 1, 2, 2, 2, 2, 2, 3, 3};
  for (int leaf = 0; leaf < 11; ++leaf) EXPECT_EQ(part_of(first, leaf), expected[leaf]);
}

TEST(next_parts, gives_a_slow_part_fewer_leaves) {
  // Leaves of the host cost 10 ms, those of the device 1 ms: 6 × 10 against 58 × 1.
  const change at = unchanged(2, {0, 32});
  EXPECT_EQ(at.next({0.320, 0.032}), (cuts{0, 18}));  // the leaves between cost 10 ms so far
  const change later = unchanged(2, {0, 18});
  EXPECT_EQ(later.next({0.180, 0.046}), (cuts{0, 11}));
  const change at_last = unchanged(2, {0, 6});
  EXPECT_EQ(at_last.next({0.060, 0.058}), (cuts{0, 6}));
}

TEST(next_parts, comes_to_equal_times_in_a_few_intervals) {
  const times leaf_cost{10.0, 1.0, 1.0, 3.0};  // of each part
  change at = unchanged(3, equal_parts(512, 4));
  double imbalance = 0.0;
  for (int interval = 0; interval < 8; ++interval) {
    times seconds;
    for (std::size_t p = 0; p < 4; ++p)
      seconds.push_back(leaf_cost[p] * ((p < 3 ? at.now[p + 1] : 512) - at.now[p]));
    imbalance = imbalance_of(seconds);
    at.now = at.next(seconds);
  }
  EXPECT_LT(imbalance, 1.06);
}

TEST(next_parts, stays_unless_the_gain_exceeds_the_tolerance) {
  const change at = unchanged(3, {0, 256});
  EXPECT_EQ(at.next({1.0, 0.95}), at.now);
  EXPECT_EQ(at.next({0.92, 1.0}), at.now);
  EXPECT_NE(at.next({1.0, 0.8}), at.now);
  EXPECT_NE(next_parts(at.input(), times{1.0, 0.95}, 0.01), at.now);
}

TEST(next_parts, stays_where_whole_leaves_leave_no_choice) {
  const change at = unchanged(1, {0, 3, 6});  // 3, 3 and 2 leaves: 1.125 of the mean
  EXPECT_EQ(at.next({3.0, 3.0, 2.0}), at.now);
}

TEST(next_parts, takes_equal_weights_while_a_time_is_unknown) {
  const change at = unchanged(2, {0, 5, 60});
  const cuts equal = equal_parts(64, 3);
  for (const double bad : {0.0, -1.0, std::numeric_limits<double>::quiet_NaN(),
                           std::numeric_limits<double>::infinity()}) {
    EXPECT_EQ(at.next({1.0, bad, 1.0}), equal) << bad;
    EXPECT_EQ(imbalance_of(times{1.0, bad, 1.0}), 0.0) << bad;
  }
  EXPECT_EQ(at.next({}), equal);
}

/// Whatever the times are, all leaves are in a part, and no part is empty.
TEST(next_parts, divides_all_leaves_of_trees_that_change) {
  for (const tree_case& c : tree_cases(6)) {
    generator random(c.seed + 40);
    const octree before = random_tree(c.seed, c.boundary, 4);
    const octree after = adapt(before, random_marks(before, random, 0.1, 0.6), {0, 4});
    for (int parts = 1; parts <= std::min({before.leaf_count(), after.leaf_count(), 7}); ++parts) {
      const change at{before, after, equal_parts(before.leaf_count(), parts)};
      times seconds;
      for (int p = 0; p < parts; ++p) seconds.push_back(0.001 + random());
      const cuts next = at.next(seconds);
      ASSERT_EQ(int(next.size()), parts) << c;
      ASSERT_EQ(next.front(), 0) << c;
      for (std::size_t p = 1; p < next.size(); ++p) ASSERT_LT(next[p - 1], next[p]) << c;
      ASSERT_LT(next.back(), after.leaf_count()) << c;
    }
  }
}

TEST(next_parts, keep_their_places_in_the_domain_if_the_tree_changes) {
  octree before = octree::uniform(1);
  std::vector<refinement> marks(8, refinement::keep);
  marks[1] = refinement::refine;
  const octree after = adapt(before, marks, {1, 2});
  const change at{std::move(before), after, {0, 4}};
  // Leaves of the first part cost so little that its eleven leaves weigh as the other four.
  EXPECT_EQ(at.next({0.4 * 4 / 11, 0.4}), (cuts{0, 11}));
  EXPECT_EQ(count_moved(at.input(), cuts{0, 11}), 0);
  EXPECT_EQ(count_moved(at.input(), cuts{0, 8}), 3);
}

TEST(imbalance_of, is_the_largest_time_over_the_mean) {
  EXPECT_EQ(imbalance_of(times{1.0, 1.0}), 1.0);
  EXPECT_EQ(imbalance_of(times{1.0, 2.0, 3.0}), 1.5);
  EXPECT_EQ(imbalance_of(times{}), 0.0);
}

}  // namespace
}  // namespace stars::test
