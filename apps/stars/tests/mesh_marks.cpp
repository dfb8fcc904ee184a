// SPDX-License-Identifier: Apache-2.0
// Marks from the flags of leaves are those of testing parents as sub-grids of their own.
#include <gtest/gtest.h>

#include <algorithm>

#include "driver/regrid.hpp"
#include "kernel/loop.hpp"
#include "mesh/transfer_plan.hpp"
#include "problems/problem.hpp"
#include "tests/mesh_support.hpp"
#include "transfer/ghosts.hpp"
#include "transfer/restriction.hpp"

namespace stars::test {
namespace {

/// Gas with a bulge, so that some cells are steep on each level.
class hill final : public problem {
 public:
  hill(boundary_kind kind, double x, double width)
      : problem("hill", 1.4, 1.0, kind), m_x(x), m_width(width) {
    const double cell = 8.0 / edge;  // width, in cells of 8³ sub-grids
    rules = {{field::rho, refinement_measure::relative_difference, 0.04 * cell},
             {field::egas, refinement_measure::value, 4.5},
             {field::sx, refinement_measure::difference, 0.05 * cell}};
  }
  [[nodiscard]] gas_state gas(const double (&r)[3], double) const override {
    const double d = (r[0] - m_x) * (r[0] - m_x) + r[1] * r[1] + (r[2] - 0.6) * (r[2] - 0.6);
    const double bump = std::exp(-d / (m_width * m_width));
    return {1.0 + bump, 1.0 + bump, {0.3 * bump, 0.0, 0.0}, 0};
  }

 private:
  double m_x, m_width;
};

/// The state of all nodes of a tree, by number: interior nodes have the means of their children.
class node_state {
 public:
  explicit node_state(const snapshot& s) : m_state(s), m_u(s.data) {
    const octree& tree = s.grid.tree();
    m_u.resize(std::size_t(tree.node_count()) * compact.block);
    for (int n = 0; n < tree.node_count(); ++n) m_frames.push_back(s.grid.frame_of(n, s.boundary));
    for (int n = tree.leaf_count(); n < tree.node_count(); ++n)
      for (int octant = 0; octant < octant_count; ++octant) {
        const level_link link{n, tree.children(n)[std::size_t(octant)], octant, octant_set::all()};
        run_loop(restriction{m_u.data(), m_u.data(), &link, 1});
      }
  }
  /// Returns whether a rule applies to an interior node or to the cells beyond its faces.
  [[nodiscard]] bool is_steep(int node, const std::vector<refinement_rule>& rules) const {
    const octree& tree = m_state.grid.tree();
    ghost_source sources[direction_count];
    for (int d = 0; d < direction_count; ++d) {
      const ghost_node from = ghost_node_of(tree.key(node), direction_vector(d), m_state.boundary);
      sources[d] = {tree.find(from.node), {from.rule[0], from.rule[1], from.rule[2]}};
    }
    std::vector<double> u(ghosted.block);
    run_loop(ghost_fill{m_u.data(), u.data(), m_frames.data(), sources, node, 1, false, 0});
    const auto beyond = [](int i) { return i < 0 || i >= edge; };
    for (int z = -2; z < edge + 2; ++z)
      for (int y = -2; y < edge + 2; ++y)
        for (int x = -2; x < edge + 2; ++x) {
          if (beyond(x) + beyond(y) + beyond(z) > 1) continue;
          const auto cells = [&](int f, int axis, int step) {
            const int at[3] = {x + (axis == 0 ? step : 0), y + (axis == 1 ? step : 0),
                               z + (axis == 2 ? step : 0)};
            return u[std::size_t(ghosted_at(0, f, at[0], at[1], at[2]))];
          };
          if (any_applies(rules.data(), int(rules.size()), cells)) return true;
        }
    return false;
  }

 private:
  const snapshot& m_state;
  std::vector<double> m_u;
  std::vector<subgrid_frame> m_frames;
};

/// At an outflow face a leaf continues its own last cells, not their means.
bool at_outflow(const snapshot& s, int node) {
  return s.boundary == boundary_kind::outflow && s.grid.frame_of(node, s.boundary).open_faces != 0;
}

/// Returns whether a node has a neighbour with children that are divided.
bool beside_finer(const octree& tree, int node) {
  for (int d = 0; d < direction_count; ++d) {
    const auto next = tree.key(node).neighbour(direction_vector(d), tree.is_periodic());
    if (!next || tree.is_leaf(tree.find(*next))) continue;
    for (const int child : tree.children(tree.find(*next)))
      if (!tree.is_leaf(child)) return true;
  }
  return false;
}

TEST(marks, of_parents_are_those_of_sub_grids_in_their_place) {
  int coarsened = 0, kept = 0;
  const int cases = edge > 8 ? 12 : 6;  // a rule reaches less far in smaller cells
  for (const tree_case& c : tree_cases(cases)) {
    const hill flow(c.boundary, c.seed % 2 == 0 ? -0.5 : 0.95, c.seed % 3 == 0 ? 0.2 : 0.5);
    const snapshot s = initial_state(flow, random_tree(c.seed, c.boundary, 3));
    const octree& tree = s.grid.tree();
    const std::vector<refinement> marks = find_marks(s, flow.rules);
    const octree coarsest = adapt(tree, std::vector<refinement>(marks.size(), refinement::coarsen));
    const node_state nodes(s);
    for (int n = tree.leaf_count(); n < tree.node_count(); ++n) {
      const auto& children = tree.children(n);
      const bool possible = std::all_of(children.begin(), children.end(), [&](int child) {
        return tree.is_leaf(child) && marks[std::size_t(child)] != refinement::refine;
      });
      // Where the balance forbids a leaf in place of the node, its mark has no effect.
      const int after = coarsest.find(tree.key(n));
      if (!possible || after < 0 || !coarsest.is_leaf(after)) continue;
      const bool steep = nodes.is_steep(n, flow.rules);
      if (!steep && (at_outflow(s, n) || beside_finer(tree, n))) continue;
      for (const int child : children)
        ASSERT_EQ(marks[std::size_t(child)], steep ? refinement::keep : refinement::coarsen)
            << c << " node " << n;
      (steep ? kept : coarsened) += 1;
    }
  }
  EXPECT_GT(std::min(coarsened, kept), 20);
}

}  // namespace
}  // namespace stars::test
