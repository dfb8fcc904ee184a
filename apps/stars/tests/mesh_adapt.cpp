// SPDX-License-Identifier: Apache-2.0
#include "mesh/adapt.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "tests/mesh_support.hpp"

namespace stars::test {
namespace {

/// The same change by exhaustion: levels are compared for all pairs of cubes of the finest level,
/// again and again, until no pair differs by more than one level.
class expected_change {
 public:
  expected_change(const octree& tree, const std::vector<refinement>& marks, level_limits limits)
      : m_tree(tree), m_cubes(tree, tree.finest_level()) {
    for (int leaf = 0; leaf < tree.leaf_count(); ++leaf) {
      const int level = tree.key(leaf).level;
      const refinement mark = marks[std::size_t(leaf)];
      const bool refines = level < limits.min || (mark == refinement::refine && level < limits.max);
      m_levels.push_back(level + (refines ? 1 : 0));
      m_coarsens.push_back(level > limits.max ||
                           (mark == refinement::coarsen && level > limits.min));
    }
    raise_levels();
    merge_families();
    restore_families();
  }

  [[nodiscard]] octree result() const {
    std::vector<node_key> leaves;
    for (int leaf = 0; leaf < m_tree.leaf_count(); ++leaf) {
      const node_key& k = m_tree.key(leaf);
      const int change = m_levels[std::size_t(leaf)] - k.level;
      if (change == 0) leaves.push_back(k);
      if (change < 0 && k.octant() == 7) leaves.push_back(k.parent());
      for (int octant = 0; change > 0 && octant < 8; ++octant) leaves.push_back(k.child(octant));
    }
    return octree(leaves, m_tree.boundary());
  }

 private:
  void raise_levels() {
    for (bool changed = true; changed;) {
      changed = false;
      m_cubes.for_each_pair([&](int a, int b) {
        if (m_levels[std::size_t(a)] <= m_levels[std::size_t(b)] + 1) return;
        m_levels[std::size_t(b)] = m_levels[std::size_t(a)] - 1;
        changed = true;
      });
    }
  }
  /// Returns the first of eight sibling leaves if the leaf is one of such.
  [[nodiscard]] int family_of(int leaf) const {
    const node_key& k = m_tree.key(leaf);
    const int first = leaf - k.octant();
    if (k.level == 0 || first < 0 || first + 8 > m_tree.leaf_count()) return -1;
    for (int i = 0; i < 8; ++i)
      if (m_tree.key(first + i) != k.parent().child(i)) return -1;
    return first;
  }
  void merge_families() {
    for (int leaf = 0; leaf < m_tree.leaf_count(); ++leaf) {
      if (family_of(leaf) != leaf) continue;
      bool agrees = true;
      for (int i = leaf; i < leaf + 8; ++i)
        agrees =
            agrees && m_coarsens[std::size_t(i)] && m_levels[std::size_t(i)] == m_tree.key(i).level;
      for (int i = leaf; agrees && i < leaf + 8; ++i) --m_levels[std::size_t(i)];
    }
  }
  /// Restores the families that violate the balance, which may require that of others.
  void restore_families() {
    for (bool changed = true; changed;) {
      changed = false;
      m_cubes.for_each_pair([&](int a, int b) {
        if (m_levels[std::size_t(a)] <= m_levels[std::size_t(b)] + 1) return;
        const int first = family_of(b);
        for (int i = first; i < first + 8; ++i) m_levels[std::size_t(i)] = m_tree.key(i).level;
        changed = true;
      });
    }
  }

  const octree& m_tree;
  picture m_cubes;
  std::vector<int> m_levels;  ///< by leaf: after the change
  std::vector<bool> m_coarsens;
};

class adapted_octrees : public testing::TestWithParam<tree_case> {
 protected:
  const octree m_tree = random_tree(GetParam().seed, GetParam().boundary, 4);
  generator m_random{GetParam().seed + 1000};
};

TEST_P(adapted_octrees, have_the_fewest_divided_and_the_most_merged_leaves) {
  int merged = 0, divided = 0;
  for (int round = 0; round < 4; ++round) {
    const level_limits limits{round % 2, round < 2 ? 4 : 3};
    const std::vector<refinement> marks = random_marks(m_tree, m_random, 0.02 * round, 0.9);
    const octree now = adapt(m_tree, marks, limits);
    ASSERT_EQ(now, expected_change(m_tree, marks, limits).result()) << round;
    for (const node_key& k : now.leaves()) {
      merged += m_tree.find(k) >= m_tree.leaf_count() ? 1 : 0;
      divided += m_tree.find(k) < 0 ? 1 : 0;
    }
  }
  EXPECT_GT(merged + divided, 0);
}

TEST_P(adapted_octrees, keep_all_leaves_without_a_mark) {
  const std::vector<refinement> keep(std::size_t(m_tree.leaf_count()), refinement::keep);
  EXPECT_EQ(adapt(m_tree, keep), m_tree);
}

TEST_P(adapted_octrees, become_uniform_on_the_limits) {
  octree up = m_tree, down = m_tree;
  for (int round = 0; round < 5; ++round) {
    const std::vector<refinement> refine(std::size_t(up.leaf_count()), refinement::refine);
    up = adapt(up, refine, {0, 4});
    const std::vector<refinement> coarsen(std::size_t(down.leaf_count()), refinement::coarsen);
    down = adapt(down, coarsen, {1, 4});
  }
  EXPECT_EQ(up, octree::uniform(4, GetParam().boundary));
  EXPECT_EQ(down, octree::uniform(1, GetParam().boundary));
}

TEST_P(adapted_octrees, obey_limits_without_a_mark) {
  octree tree_of_two = m_tree;
  for (int round = 0; round < 5; ++round) {
    const std::vector<refinement> keep(std::size_t(tree_of_two.leaf_count()), refinement::keep);
    tree_of_two = adapt(tree_of_two, keep, {2, 2});
  }
  EXPECT_EQ(tree_of_two, octree::uniform(2, GetParam().boundary));
}

INSTANTIATE_TEST_SUITE_P(of, adapted_octrees, testing::ValuesIn(tree_cases(6)),
                         testing::PrintToStringParamName());

/// Marks the leaf `place` of the finest level.
octree with_refined(const octree& tree, triple place) {
  std::vector<refinement> marks(std::size_t(tree.leaf_count()), refinement::keep);
  marks[std::size_t(tree.find({tree.finest_level(), place}))] = refinement::refine;
  return adapt(tree, marks);
}

TEST(adapt, divides_coarser_neighbours_in_turn) {
  // Refined at the centre: one mark a round; the coarser leaves around the centre follow.
  octree tree = octree::uniform(1);
  tree = with_refined(tree, {0, 0, 0});
  EXPECT_EQ(tree.leaf_count(), 8 + 7);
  tree = with_refined(tree, {1, 1, 1});  // touches the seven other leaves of level 1
  EXPECT_EQ(tree.leaf_count(), 8 * 8 + 7);
  tree = with_refined(tree, {3, 3, 3});
  EXPECT_EQ(tree.leaf_count(), 64 + 8 * 7 + 7);
  EXPECT_EQ(tree.leaf_count(4), 8);
}

TEST(adapt, divides_leaves_across_periodic_faces) {
  for (const boundary_kind b : all_boundaries) {
    octree tree = octree::uniform(1, b);
    tree = with_refined(tree, {0, 0, 0});
    tree = with_refined(tree, {0, 0, 0});
    EXPECT_EQ(tree.leaf_count(), b == boundary_kind::periodic ? 8 * 8 + 7 : 8 + 7 + 7);
  }
}

TEST(adapt, merges_only_if_all_eight_siblings_are_marked) {
  const octree tree = octree::uniform(1);
  std::vector<refinement> marks(8, refinement::coarsen);
  EXPECT_EQ(adapt(tree, marks), octree::uniform(0));
  EXPECT_EQ(adapt(tree, marks, {1, 4}), tree);
  marks[5] = refinement::keep;
  EXPECT_EQ(adapt(tree, marks), tree);
  marks[5] = refinement::refine;
  EXPECT_EQ(adapt(tree, marks).leaf_count(), 7 + 8);
}

TEST(adapt, refuses_wrong_marks_and_limits) {
  const octree tree = octree::uniform(1);
  const std::vector<refinement> marks(8, refinement::keep);
  EXPECT_THROW((void)adapt(tree, {marks.data(), 7}), std::invalid_argument);
  EXPECT_THROW((void)adapt(tree, marks, {-1, 3}), std::invalid_argument);
  EXPECT_THROW((void)adapt(tree, marks, {3, 2}), std::invalid_argument);
  EXPECT_THROW((void)adapt(tree, marks, {0, deepest_level + 1}), std::invalid_argument);
}

}  // namespace
}  // namespace stars::test
