// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <stdexcept>
#include <vector>

#include "mesh/regrid_plan.hpp"
#include "tests/mesh_support.hpp"

namespace stars::test {
namespace {

class regrid_plans : public testing::TestWithParam<tree_case> {};

/// Eight octants count as one leaf.
TEST_P(regrid_plans, give_each_new_leaf_one_origin) {
  generator random(GetParam().seed);
  octree before = random_tree(GetParam().seed, GetParam().boundary, 4);
  for (int round = 0; round < 5; ++round) {
    const octree after = adapt(before, random_marks(before, random, 0.1, 0.8), {0, 5});
    const regrid_plan plan = plan_regrid(before, after);
    std::vector<int> eighths(std::size_t(after.leaf_count())),
        used(std::size_t(before.leaf_count()));
    for (const auto [from, to] : plan.copies) {
      ASSERT_EQ(before.key(from), after.key(to));
      eighths[std::size_t(to)] += 8;
      used[std::size_t(from)] += 8;
    }
    for (const level_link& l : plan.restrictions) {
      ASSERT_EQ(before.key(l.fine), after.key(l.coarse).child(l.octant));
      ASSERT_EQ(l.cells, octant_set::all());
      ++eighths[std::size_t(l.coarse)];
      used[std::size_t(l.fine)] += 8;
    }
    for (const level_link& l : plan.prolongations) {
      ASSERT_EQ(after.key(l.fine), before.key(l.coarse).child(l.octant));
      ASSERT_EQ(l.cells, octant_set::all());
      eighths[std::size_t(l.fine)] += 8;
      ++used[std::size_t(l.coarse)];
    }
    EXPECT_EQ(eighths, std::vector<int>(eighths.size(), 8));
    EXPECT_EQ(used, std::vector<int>(used.size(), 8));
    before = after;
  }
}

TEST_P(regrid_plans, of_the_same_tree_are_copies) {
  const octree tree = random_tree(GetParam().seed, GetParam().boundary, 4);
  const regrid_plan plan = plan_regrid(tree, tree);
  EXPECT_EQ(plan.copies.size(), std::size_t(tree.leaf_count()));
  EXPECT_TRUE(plan.restrictions.empty());
  EXPECT_TRUE(plan.prolongations.empty());
}

INSTANTIATE_TEST_SUITE_P(of, regrid_plans, testing::ValuesIn(tree_cases(4)),
                         testing::PrintToStringParamName());

TEST(regrid_plan, refuses_trees_that_differ_by_two_levels) {
  const octree two = octree::uniform(2);
  std::vector<refinement> marks(64, refinement::keep);
  marks[63] = refinement::refine;
  const octree three = adapt(two, marks);
  EXPECT_THROW((void)plan_regrid(octree::uniform(1), three), std::invalid_argument);
  EXPECT_THROW((void)plan_regrid(three, octree::uniform(1)), std::invalid_argument);
  EXPECT_THROW((void)plan_regrid(octree::uniform(0), two), std::invalid_argument);
  EXPECT_NO_THROW((void)plan_regrid(octree::uniform(1), two));
  EXPECT_THROW((void)plan_regrid(two, octree::uniform(2, boundary_kind::periodic)),
               std::invalid_argument);
}

}  // namespace
}  // namespace stars::test
