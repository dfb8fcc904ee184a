// SPDX-License-Identifier: Apache-2.0
#include "mesh/transfer_plan.hpp"

#include <algorithm>
#include <cassert>
#include <numeric>
#include <type_traits>
#include <utility>

#include "mesh/cell_masks.hpp"

namespace stars {
namespace {

static_assert(std::is_trivially_copyable_v<level_link> && std::is_trivially_copyable_v<face_link> &&
              std::is_trivially_copyable_v<ghost_source>);

/// While tables are made, sources have *provisional* numbers: nodes of the tree have their own,
/// cubes that the tree lacks follow in the order in which they are found.
class planner {
 public:
  planner(const octree& tree, double xscale)
      : m_tree(tree), m_xscale(xscale),
        m_interior_cells(std::size_t(tree.node_count() - tree.leaf_count())) {}

  transfer_plan make() {
    m_plan.leaves = m_tree.leaf_count();
    find_sources();
    sort_missing();
    add_prolongations();
    add_restrictions();
    add_corrections();
    number_slots();
    return std::move(m_plan);
  }

 private:
  [[nodiscard]] bool is_interior(int number) const {
    return number >= m_tree.leaf_count() && number < m_tree.node_count();
  }
  [[nodiscard]] cell_set& cells_of(int interior) {
    return m_interior_cells[std::size_t(interior - m_tree.leaf_count())];
  }
  [[nodiscard]] std::size_t index_of_missing(int number) const {
    return std::size_t(number - m_tree.node_count());
  }

  /// Finds all sources, and the cells of interior and missing nodes that they are read for.
  void find_sources() {
    m_plan.sources.reserve(std::size_t(m_plan.leaves) * direction_count);
    for (int leaf = 0; leaf < m_plan.leaves; ++leaf)
      for (int d = 0; d < direction_count; ++d) {
        const triple v = direction_vector(d);
        const ghost_node g = ghost_node_of(m_tree.key(leaf), v, m_tree.boundary());
        const int number = number_of(g.node);
        m_plan.sources.push_back({number, {g.rule[0], g.rule[1], g.rule[2]}});
        if (m_tree.is_leaf(number)) continue;
        const unsigned x = cells_read(v.x, g.rule[0]), y = cells_read(v.y, g.rule[1]),
                       z = cells_read(v.z, g.rule[2]);
        if (is_interior(number)) {
          cells_of(number).add_box(x, y, z);
        } else {
          m_missing[index_of_missing(number)].cells.add_box(coarsened(x), coarsened(y),
                                                            coarsened(z));
        }
      }
  }
  [[nodiscard]] int number_of(const node_key& node) {
    if (const int known = m_tree.find(node); known >= 0) return known;
    const int next = m_tree.node_count() + int(m_missing.size());
    const int number = m_missing_numbers.insert(node, next);
    if (number == next) m_missing.push_back({node, {}});
    return number;
  }

  /// Brings missing nodes into Z-order and renumbers their readers.
  void sort_missing() {
    std::vector<int> order(m_missing.size());
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(), [&](int a, int b) {
      return m_missing[std::size_t(a)].key < m_missing[std::size_t(b)].key;
    });
    std::vector<missing_node> sorted;
    std::vector<int> number(order.size());
    for (const int old : order) {
      number[std::size_t(old)] = m_tree.node_count() + int(sorted.size());
      sorted.push_back(m_missing[std::size_t(old)]);
    }
    m_missing.swap(sorted);
    for (ghost_source& s : m_plan.sources)
      if (s.slot >= m_tree.node_count()) s.slot = number[index_of_missing(s.slot)];
  }

  /// The cells of interior nodes that prolongations read are ghost cells of the coarse leaf, and so
  /// have been added.
  void add_prolongations() {
    for (const missing_node& m : m_missing) {
      const int coarse = m_tree.find(m.key.parent());
      assert(coarse >= 0 && m_tree.is_leaf(coarse));  // by 2:1 balance
      const int fine = m_tree.node_count() + int(m_plan.prolongations.size());
      m_plan.prolongations.push_back({coarse, fine, m.key.octant(), m.cells});
    }
  }

  void add_restrictions() {
    for (int node = m_tree.leaf_count(); node < m_tree.node_count(); ++node)
      if (!cells_of(node).empty()) m_restricted.push_back(node);
    std::sort(m_restricted.begin(), m_restricted.end(),
              [&](int a, int b) { return m_tree.key(a) < m_tree.key(b); });
    for (const int node : m_restricted)
      for (std::size_t octant = 0; octant < octant_count; ++octant)
        if (const octant_set& cells = cells_of(node).octants[octant]; !cells.empty()) {
          const int fine = m_tree.children(node)[octant];
          // Only cells beside a leaf of the node's level are read, so balance forbids more levels.
          assert(m_tree.is_leaf(fine));
          m_plan.restrictions.push_back({node, fine, int(octant), cells});
        }
  }

  void add_corrections() {
    for (int leaf = 0; leaf < m_plan.leaves; ++leaf)
      for (int axis = 0; axis < 3; ++axis)
        for (int side = 0; side < 2; ++side) {
          int v[3] = {};
          v[axis] = 2 * side - 1;
          const ghost_source& s = m_plan.source(leaf, direction_index({v[0], v[1], v[2]}));
          if (is_interior(s.slot)) m_plan.corrections.push_back(correction(leaf, axis, side, s));
        }
  }
  [[nodiscard]] face_link correction(int leaf, int axis, int side,
                                     const ghost_source& neighbour) const {
    face_link c{leaf, axis, side, {}};
    const int low = axis == 0 ? 1 : 0, high = axis == 2 ? 1 : 2;
    for (int k = 0; k < 4; ++k) {
      const int octant = (1 - side) << axis | (k & 1) << low | (k >> 1) << high;
      c.fine[k] = m_tree.children(neighbour.slot)[std::size_t(octant)];
      assert(m_tree.is_leaf(c.fine[k]));
    }
    return c;
  }

  /// Replaces provisional numbers by slots.
  void number_slots() {
    m_plan.restricted = int(m_restricted.size());
    m_plan.prolonged = int(m_missing.size());
    std::vector<int> slots(std::size_t(m_tree.node_count()) + m_missing.size(), -1);
    const auto add_slot = [&](int number, const node_key& key) {
      slots[std::size_t(number)] = int(m_plan.keys.size());
      m_plan.keys.push_back(key);
      m_plan.frames.push_back(frame_of(key, m_xscale, m_tree.boundary()));
    };
    for (int leaf = 0; leaf < m_plan.leaves; ++leaf) add_slot(leaf, m_tree.key(leaf));
    for (const int node : m_restricted) add_slot(node, m_tree.key(node));
    for (std::size_t i = 0; i < m_missing.size(); ++i)
      add_slot(m_tree.node_count() + int(i), m_missing[i].key);
    const auto renumber = [&](int& number) { number = slots[std::size_t(number)]; };
    for (ghost_source& s : m_plan.sources) renumber(s.slot);
    for (level_link& l : m_plan.restrictions) renumber(l.coarse);
    for (level_link& l : m_plan.prolongations) renumber(l.fine);
  }

  /// A cube inside a leaf of the level above.
  struct missing_node {
    node_key key;
    octant_set cells;  ///< as in level_link
  };

  const octree& m_tree;
  double m_xscale;
  transfer_plan m_plan;
  std::vector<cell_set> m_interior_cells;  ///< the needed cells of each interior node
  node_table m_missing_numbers;
  std::vector<missing_node> m_missing;
  std::vector<int> m_restricted;  ///< interior nodes
};

}  // namespace

void drop_direction(transfer_plan& plan, int direction) {
  if (direction < 0) return;
  for (int leaf = 0; leaf < plan.leaves; ++leaf)
    plan.sources[std::size_t(leaf) * direction_count + std::size_t(direction)] =
        own_edge(leaf, direction);
}

transfer_plan plan_transfers(const octree& tree, double xscale) {
  return planner(tree, xscale).make();
}

transfer_plan plan_transfers(const mesh& grid, boundary_kind boundary) {
  return plan_transfers(grid.tree().with_boundary(boundary), grid.xscale());
}

}  // namespace stars
