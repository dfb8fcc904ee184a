// SPDX-License-Identifier: Apache-2.0
#include "mesh/octree.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/mesh_support.hpp"

namespace stars::test {
namespace {

/// Returns the message with which a tree of these leaves is refused; empty if it is made.
std::string refusal(std::vector<node_key> leaves, boundary_kind boundary = boundary_kind::outflow) {
  try {
    octree(std::move(leaves), boundary);
  } catch (const std::invalid_argument& e) {
    return e.what();
  }
  return {};
}

/// Returns the leaves of the uniform tree of level 1, with the leaves in `divided` replaced by
/// their children, in turn.
std::vector<node_key> with_divided(const std::vector<node_key>& divided) {
  std::vector<node_key> leaves;
  for (int octant = 0; octant < 8; ++octant) leaves.push_back(node_key{}.child(octant));
  for (const node_key& k : divided) {
    std::erase(leaves, k);
    for (int octant = 0; octant < 8; ++octant) leaves.push_back(k.child(octant));
  }
  return leaves;
}

TEST(node_keys, have_z_order_numbers_on_all_levels) {
  generator random(3);
  for (int level = 0; level <= deepest_level; ++level)
    for (int i = 0; i < 100; ++i) {
      const auto place = [&] { return int(random() * (1 << level)); };
      const node_key k{level, {place(), place(), place()}};
      ASSERT_TRUE(k.is_valid());
      std::uint64_t number = 0;
      for (int bit = level - 1; bit >= 0; --bit)
        number = 8 * number + std::uint64_t((k.place.x >> bit & 1) + 2 * (k.place.y >> bit & 1) +
                                            4 * (k.place.z >> bit & 1));
      ASSERT_EQ(k.z_number(), number);
      ASSERT_EQ(node_key::at(level, number), k);
    }
  EXPECT_EQ((node_key{deepest_level, {(1 << 20) - 1, (1 << 20) - 1, (1 << 20) - 1}}.end()),
            node_key{}.end());
}

TEST(node_keys, have_children_inside_and_behind_them) {
  const node_key k{3, {5, 2, 7}};
  for (int octant = 0; octant < 8; ++octant) {
    const node_key child = k.child(octant);
    EXPECT_EQ(child.parent(), k);
    EXPECT_EQ(child.octant(), octant);
    EXPECT_LT(k, child);
    EXPECT_EQ(child.begin(), k.begin() + std::uint64_t(octant) * (k.end() - k.begin()) / 8);
    EXPECT_EQ(child.end() - child.begin(), (k.end() - k.begin()) / 8);
  }
}

TEST(node_keys, have_neighbours_across_periodic_faces_only) {
  const node_key corner{2, {0, 3, 1}};
  EXPECT_EQ(corner.neighbour({1, -1, 1}, false), (node_key{2, {1, 2, 2}}));
  EXPECT_EQ(corner.neighbour({-1, 0, 0}, false), std::nullopt);
  EXPECT_EQ(corner.neighbour({0, 1, 0}, false), std::nullopt);
  EXPECT_EQ(corner.neighbour({-1, 1, 1}, true), (node_key{2, {3, 0, 2}}));
  EXPECT_EQ(node_key{}.neighbour({1, 0, -1}, true), node_key{});
}

TEST(node_keys, give_points_the_same_coordinates_on_all_levels) {
  generator random(5);
  const double xscale = 0.7;
  for (int i = 0; i < 1000; ++i) {
    const int level = int(random() * deepest_level), octant = int(random() * 8);
    const auto place = [&] { return int(random() * (1 << level)); };
    const node_key coarse{level, {place(), place(), place()}};
    const subgrid_frame c = frame_of(coarse, xscale, boundary_kind::outflow),
                        f = frame_of(coarse.child(octant), xscale, boundary_kind::outflow);
    for (int a = 0; a < 3; ++a)
      for (int half = 0; half <= edge; ++half) {  // half cells of the coarse node, in its octant
        const double in_coarse = (half + (octant >> a & 1) * edge + c.lower[a]) * c.half_dx;
        EXPECT_EQ(in_coarse, (2 * half + f.lower[a]) * f.half_dx);
      }
  }
}

TEST(node_tables, find_what_was_added_while_they_grow) {
  generator random(7);
  node_table table;
  std::map<std::uint64_t, int> expected;
  for (int i = 0; i < 5000; ++i) {
    const int level = int(random() * 5);
    const auto place = [&] { return int(random() * (1 << level)); };
    const node_key k{level, {place(), place(), place()}};
    const auto known = expected.find(k.code());
    ASSERT_EQ(table.find(k), known == expected.end() ? -1 : known->second);
    expected.emplace(k.code(), i);
    ASSERT_EQ(table.insert(k, i), expected.at(k.code()));
  }
}

TEST(octrees, of_one_level_number_leaves_like_the_uniform_mesh) {
  for (int level = 0; level <= 4; ++level) {
    const octree tree = octree::uniform(level);
    const mesh grid{level, 1.3};
    ASSERT_EQ(tree.leaf_count(), grid.subgrid_count());
    EXPECT_EQ(tree.leaf_count(level), grid.subgrid_count());
    EXPECT_EQ(tree.leaf_count(level + 1), 0);
    EXPECT_EQ(tree.finest_level(), level);
    for (int leaf = 0; leaf < tree.leaf_count(); ++leaf) {
      ASSERT_EQ(tree.key(leaf), node_key::at(level, std::uint64_t(leaf)));
      const subgrid_frame f = grid.frame_of(leaf, boundary_kind::outflow);
      EXPECT_EQ(f.dx(), grid.dx());
      EXPECT_EQ(f.inverse_dx, 1.0 / grid.dx());
      for (int a = 0; a < 3; ++a)
        EXPECT_EQ((1 + f.lower[a]) * f.half_dx, grid.centre(edge * tree.key(leaf).place[a]));
    }
  }
}

class random_octrees : public testing::TestWithParam<tree_case> {
 protected:
  const octree m_tree = random_tree(GetParam().seed, GetParam().boundary, 5);
};

TEST_P(random_octrees, are_balanced) {
  picture(m_tree, m_tree.finest_level()).for_each_pair([&](int a, int b) {
    ASSERT_LE(std::abs(m_tree.key(a).level - m_tree.key(b).level), 1) << describe(m_tree.key(a));
  });
}

TEST_P(random_octrees, have_leaves_in_z_order_and_parents_behind_their_children) {
  EXPECT_TRUE(std::is_sorted(m_tree.leaves().begin(), m_tree.leaves().end()));
  EXPECT_EQ(m_tree.key(m_tree.root()), node_key{});
  EXPECT_EQ(m_tree.parent(m_tree.root()), -1);
  std::vector<int> by_level(std::size_t(m_tree.finest_level()) + 1);
  for (int n = 0; n < m_tree.node_count(); ++n) {
    ASSERT_EQ(m_tree.find(m_tree.key(n)), n);
    ASSERT_EQ(m_tree.is_leaf(n), n < m_tree.leaf_count());
    if (n != m_tree.root()) {
      const int parent = m_tree.parent(n);
      ASSERT_GT(parent, n);
      ASSERT_EQ(m_tree.key(parent), m_tree.key(n).parent());
      ASSERT_EQ(m_tree.children(parent)[std::size_t(m_tree.key(n).octant())], n);
    }
    if (m_tree.is_leaf(n)) ++by_level[std::size_t(m_tree.key(n).level)];
  }
  EXPECT_EQ(m_tree.node_count(), m_tree.leaf_count() + (m_tree.leaf_count() - 1) / 7);
  for (int level = 0; level <= m_tree.finest_level(); ++level)
    EXPECT_EQ(m_tree.leaf_count(level), by_level[std::size_t(level)]);
}

TEST_P(random_octrees, find_the_leaf_that_contains_a_cube) {
  generator random(GetParam().seed + 100);
  for (int leaf = 0; leaf < m_tree.leaf_count(); ++leaf) {
    node_key cube = m_tree.key(leaf);
    for (int k = 0; k < 3; ++k) {
      cube = cube.child(int(random() * 8));
      ASSERT_EQ(m_tree.find(cube), -1);
      ASSERT_EQ(m_tree.find_containing(cube), leaf);
    }
  }
}

TEST_P(random_octrees, are_equal_for_leaves_in_any_order) {
  std::vector<node_key> leaves(m_tree.leaves().begin(), m_tree.leaves().end());
  generator random(GetParam().seed);
  for (std::size_t i = leaves.size(); i > 1; --i)
    std::swap(leaves[i - 1], leaves[std::size_t(random() * double(i))]);
  EXPECT_EQ(octree(leaves, GetParam().boundary), m_tree);
}

TEST_P(random_octrees, are_refused_with_a_leaf_less_or_more) {
  generator random(GetParam().seed);
  const auto any = [&] { return int(random() * m_tree.leaf_count()); };
  std::vector<node_key> leaves(m_tree.leaves().begin(), m_tree.leaves().end());
  const node_key lost = leaves[std::size_t(any())];
  std::erase(leaves, lost);
  if (!leaves.empty()) {
    EXPECT_NE(refusal(leaves).find("no leaf covers the " + describe(lost)), std::string::npos)
        << refusal(leaves);
  }
  leaves.push_back(lost);
  leaves.push_back(m_tree.key(any()).child(3));
  EXPECT_NE(refusal(leaves).find("overlaps"), std::string::npos) << refusal(leaves);
}

INSTANTIATE_TEST_SUITE_P(of, random_octrees, testing::ValuesIn(tree_cases(6)),
                         testing::PrintToStringParamName());

TEST(octrees, differ_by_leaves_and_boundary) {
  EXPECT_EQ(octree::uniform(1), octree(with_divided({})));
  EXPECT_FALSE(octree::uniform(1) == octree::uniform(2));
  EXPECT_FALSE(octree::uniform(1) == octree::uniform(1, boundary_kind::periodic));
}

TEST(octrees, are_refused_if_leaves_do_not_tile_the_domain) {
  EXPECT_EQ(refusal({}), "octree: no leaf covers the node at level 0, place (0, 0, 0)");
  EXPECT_EQ(refusal({node_key{}, node_key{}}),
            "octree: node at level 0, place (0, 0, 0) overlaps another leaf");
  EXPECT_EQ(refusal({node_key{}, {1, {0, 2, 0}}}),
            "octree: node at level 1, place (0, 2, 0) is not in the domain");
  EXPECT_EQ(refusal({{-1, {}}}), "octree: node at level -1, place (0, 0, 0) is not in the domain");
  EXPECT_EQ(refusal({{deepest_level + 1, {}}}),
            "octree: node at level 21, place (0, 0, 0) is not in the domain");
  // The largest cubes of a gap are named, also of a gap at the end.
  std::vector<node_key> leaves = with_divided({{1, {1, 1, 0}}});
  std::erase(leaves, node_key{1, {1, 1, 1}});
  EXPECT_EQ(refusal(leaves), "octree: no leaf covers the node at level 1, place (1, 1, 1)");
  EXPECT_THROW((void)octree::uniform(-1), std::invalid_argument);
  EXPECT_THROW((void)octree::uniform(max_level + 1), std::invalid_argument);
}

/// Leaves of level 3 at a face, an edge or a vertex of the only leaf of level 1.
TEST(octrees, are_refused_if_leaves_side_by_side_differ_by_two_levels) {
  for (const triple place : {triple{1, 0, 0}, triple{1, 1, 0}, triple{1, 1, 1}}) {
    std::vector<node_key> divided;
    for (int octant = 1; octant < 8; ++octant) divided.push_back(node_key{}.child(octant));
    const node_key near = node_key{1, place}.child(0), far = node_key{1, place}.child(7);
    divided.push_back(near);
    EXPECT_EQ(refusal(with_divided(divided)),
              "octree: not balanced: the leaf node at level 1, place (0, 0, 0) is beside the "
              "children of the " +
                  describe(near));
    divided.back() = far;
    EXPECT_EQ(refusal(with_divided(divided)), "");
  }
}

TEST(octrees, are_balanced_across_periodic_faces) {
  const std::vector<node_key> leaves = with_divided({{1, {1, 1, 1}}, {2, {3, 3, 3}}});
  EXPECT_EQ(refusal(leaves, boundary_kind::outflow), "");
  EXPECT_EQ(refusal(leaves, boundary_kind::reflecting), "");
  EXPECT_NE(refusal(leaves, boundary_kind::periodic).find("not balanced"), std::string::npos);
}

}  // namespace
}  // namespace stars::test
