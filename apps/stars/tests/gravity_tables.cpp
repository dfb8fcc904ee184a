// SPDX-License-Identifier: Apache-2.0
// Which cells interact, on which level, and how.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <stdexcept>
#include <tuple>

#include "tests/gravity_support.hpp"

namespace stars::test {
namespace {

TEST(cell_order, has_a_place_for_each_cell) {
  for (int place = 0; place < cells_per_subgrid; ++place)
    EXPECT_EQ(place_of_cell(cell_at_place(place)), place);
}

TEST(cell_order, has_the_children_of_a_cell_at_the_place_of_their_parent) {
  for (int octant = 0; octant < octant_count; ++octant)
    for (int place = 0; place < cells_per_subgrid; ++place) {
      const triple child = cell_at_place(place), half = parity_vector(octant);
      const triple parent{(child.x + edge * half.x) / 2, (child.y + edge * half.y) / 2,
                          (child.z + edge * half.z) / 2};
      EXPECT_EQ(place_of_parent({octant, place % cells_per_group}), place_of_cell(parent));
      const children_place children = children_of(place_of_cell(parent));
      EXPECT_EQ(children.octant, octant);
      EXPECT_EQ(children.in_group, place % cells_per_group);
    }
}

struct counts {
  double theta;
  int all, far, near;
};

/// The counts of an independent program.
TEST(stencils, have_the_known_numbers_of_partners) {
  for (const counts& c : {counts{0.5, 215, 189, 26}, counts{0.34, 743, 651, 92}}) {
    const stencils s(c.theta);
    for (int g = 0; g < group_count; ++g) {
      EXPECT_EQ(int(s.all.of(g).size()), c.all);
      EXPECT_EQ(int(s.far.of(g).size()), c.far);
      EXPECT_EQ(int(s.near.of(g).size()), c.near);
    }
  }
}

/// If a cell is the partner of another one, that one is its partner.
TEST(stencils, are_symmetric) {
  for (const double theta : {least_theta, 0.34, 0.5, largest_theta}) {
    const stencils s(theta);
    for (const stencil* list : {&s.far, &s.near, &s.all, &s.far_in_root, &s.all_in_root}) {
      std::set<std::tuple<int, int, int, int>> pairs;
      for (int g = 0; g < group_count; ++g)
        for (const partner& p : list->of(g)) pairs.insert({g, p.offset.x, p.offset.y, p.offset.z});
      for (int g = 0; g < group_count; ++g)
        for (const partner& p : list->of(g)) {
          EXPECT_TRUE(pairs.contains({p.group, -p.offset.x, -p.offset.y, -p.offset.z}));
        }
    }
  }
}

TEST(stencils, refuse_an_opening_parameter_out_of_range) {
  for (const double theta : {0.2, 0.6, -1.0, std::nan("")})
    EXPECT_THROW(stencils{theta}, std::invalid_argument) << theta;
}

TEST(gravity_tables, refuse_a_periodic_domain) {
  EXPECT_THROW(gravity_tables(octree::uniform(1, boundary_kind::periodic), 1.0, 0.5),
               std::invalid_argument);
}

TEST(gravity_tables, refuse_a_domain_without_size) {
  for (const double xscale : {0.0, -1.0, std::nan(""), HUGE_VAL})
    EXPECT_THROW(gravity_tables(octree::uniform(0), xscale, 0.5), std::invalid_argument);
}

class gravity_trees : public testing::TestWithParam<std::uint64_t> {
 protected:
  octree m_tree = random_tree(GetParam(), boundary_kind::outflow, 4);
  gravity_tables m_tables{m_tree, 1.0, 0.34};
  gravity_plan m_plan = m_tables.plan();
};

TEST_P(gravity_trees, find_cells_by_their_positions) {
  const gravity_view& tree = m_plan.tree;
  const stencils s(0.34);
  const auto floor_of = [](int cell) { return (cell + edge) / edge - 1; };
  generator random(GetParam());
  for (int k = 0; k < 2000; ++k) {
    const int node = int(random() * m_tree.node_count()), group = int(random() * group_count);
    const triple at = position_in_group(int(random() * cells_per_group));
    const auto list = s.all.of(group);
    const partner& p = list[std::size_t(random() * double(list.size()))];
    const node_cell found = tree.find(node, at, p);
    const triple parity = parity_vector(group);
    const node_key& key = m_tree.key(node);
    const triple cell{edge * key.place.x + 2 * at.x + parity.x + p.offset.x,
                      edge * key.place.y + 2 * at.y + parity.y + p.offset.y,
                      edge * key.place.z + 2 * at.z + parity.z + p.offset.z};
    const node_key expected{key.level, {floor_of(cell.x), floor_of(cell.y), floor_of(cell.z)}};
    ASSERT_EQ(found.node, expected.is_valid() ? m_tree.find(expected) : -1);
    if (found.node < 0) continue;
    const triple inside = cell_at_place(found.place);
    EXPECT_EQ(inside, (triple{cell.x & (edge - 1), cell.y & (edge - 1), cell.z & (edge - 1)}));
  }
}

/// Each leaf beside a seam is in a list.
TEST_P(gravity_trees, list_the_leaves_beside_other_levels) {
  const gravity_view& tree = m_plan.tree;
  const auto has = [](const node_list& list, int leaf) {
    return std::find(list.nodes, list.nodes + list.count, leaf) != list.nodes + list.count;
  };
  const auto around = [&](int node, const auto& wanted) {
    for (int v = 0; v < surrounding_count; ++v) {
      const int other = tree.surrounding(node, surrounding_vector(v));
      if (other >= 0 && wanted(other)) return true;
    }
    return false;
  };
  for (int leaf = 0; leaf < tree.leaves; ++leaf) {
    EXPECT_EQ(has(m_plan.beside_finer, leaf),
              around(leaf, [&](int other) { return !m_tree.is_leaf(other); }));
    const int parent = m_tree.parent(leaf);
    EXPECT_EQ(has(m_plan.beside_coarser, leaf),
              parent >= 0 && around(parent, [&](int other) { return m_tree.is_leaf(other); }));
  }
}

/// A copy of the tables at another address has the same tables.
TEST_P(gravity_trees, are_copied_as_bytes) {
  const std::vector<std::byte> copy(m_tables.bytes().begin(), m_tables.bytes().end());
  const gravity_plan other = m_tables.plan(copy.data());
  EXPECT_NE(other.tree.parents, m_plan.tree.parents);
  for (int node = 0; node < m_tree.node_count(); ++node) {
    EXPECT_EQ(other.tree.parents[node], m_tree.parent(node));
    EXPECT_EQ(other.tree.cell_sizes[node], m_plan.tree.cell_sizes[node]);
  }
  ASSERT_EQ(other.interior.size(), m_plan.interior.size());
  EXPECT_EQ(other.beside_finer.count, m_plan.beside_finer.count);
}

/// A cell of a leaf that is near a cell of an interior node interacts with the eight children of
/// the latter as masses. So they must be cells of leaves, for each opening parameter.
TEST_P(gravity_trees, have_leaves_below_the_cells_of_interior_nodes_that_are_near_leaves) {
  const gravity_view& tree = m_plan.tree;
  const stencils s(least_theta);
  for (int leaf = 0; leaf < tree.leaves; ++leaf)
    for (int place = 0; place < cells_per_subgrid; ++place)
      for (const partner& p : s.near.of(place / cells_per_group)) {
        const node_cell c = tree.find(leaf, position_in_group(place % cells_per_group), p);
        if (c.node < tree.leaves) continue;
        ASSERT_TRUE(tree.is_leaf(tree.child(c.node, children_of(c.place).octant)));
      }
}

INSTANTIATE_TEST_SUITE_P(random, gravity_trees,
                         testing::Range(std::uint64_t{1}, std::uint64_t{edge == 8 ? 9 : 4}));

}  // namespace
}  // namespace stars::test
