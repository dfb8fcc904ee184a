// SPDX-License-Identifier: Apache-2.0
/// \file
/// The nodes of a tree and their partners as the kernels of gravity find them.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "gravity/stencil.hpp"
#include "mesh/octree.hpp"

namespace stars {

/// A node and its 26 neighbours. The one in direction v (components -1, 0 or 1) has the number
/// x + 3y + 9z + 13.
inline constexpr int surrounding_count = direction_count + 1;
constexpr int surrounding_number(const triple& v) {
  return v.x + 3 * v.y + 9 * v.z + direction_count / 2;
}
constexpr triple surrounding_vector(int number) {
  return {number % 3 - 1, number / 3 % 3 - 1, number / 9 - 1};
}

/// A cell of a node.
struct node_cell {
  int node;   ///< -1: the tree has no such node
  int place;  ///< in the arrays of the node (cell_order.hpp)
};

/// The nodes of a tree. Their numbers are those of the tree: leaves, then interior nodes.
struct gravity_view {
  const int* surroundings;   ///< [nodes][27]: nodes of the same level, -1 where there is none
  const int* parents;        ///< [nodes]; -1 for the root
  const int* octants;        ///< [nodes]: of the parent
  const int* children;       ///< [interior][8], by octant
  const double* cell_sizes;  ///< [nodes]
  int leaves;                ///< nodes before this number are leaves

  constexpr bool is_leaf(int node) const { return node < leaves; }
  constexpr int surrounding(int node, const triple& v) const {
    return surroundings[index_type{node} * surrounding_count + surrounding_number(v)];
  }
  constexpr int child(int node, int octant) const {
    return children[index_type{node - leaves} * group_count + octant];
  }
  /// Returns the cell of a group at a position from `node`, which may be in a neighbour.
  constexpr node_cell find(int node, int group, const triple& position) const {
    const triple v{side_of(position.x), side_of(position.y), side_of(position.z)};
    return {surrounding(node, v),
            group * cells_per_group +
                place_in_group({position.x - v.x * group_edge, position.y - v.y * group_edge,
                                position.z - v.z * group_edge})};
  }
  /// Returns the partner of the cell of `node` with position `k` in its group.
  constexpr node_cell find(int node, const triple& k, const partner& p) const {
    return find(node, p.group, {k.x + p.shift.x, k.y + p.shift.y, k.z + p.shift.z});
  }
};

struct node_list {
  const int* nodes;
  int count;
};

/// Everything that kernels read beside the cells: addresses in one copy of the tables of a tree.
struct gravity_plan {
  gravity_view tree;
  stencil_view far, far_in_root, near, all;  ///< see stencils
  const pair_potential* pairs;               ///< by partner in `all`
  std::vector<node_list> interior;           ///< the interior nodes of each level
  node_list beside_finer;                    ///< leaves that touch an interior node
  node_list beside_coarser;                  ///< leaves whose parents touch a leaf
};

/// The tables of one tree and one opening parameter, an immutable value. They are one block of
/// memory without addresses, which is copied to devices as it is.
class gravity_tables {
 public:
  /// The domain is isolated: there is no mass outside. Throws std::invalid_argument if the tree is
  /// periodic, xscale not positive or theta out of its range.
  gravity_tables(const octree& tree, double xscale, double theta);

  [[nodiscard]] std::span<const std::byte> bytes() const { return m_bytes; }
  /// Returns the addresses in a copy of the bytes that begins at `copy`.
  [[nodiscard]] gravity_plan plan(const std::byte* copy) const;
  [[nodiscard]] gravity_plan plan() const { return plan(m_bytes.data()); }
  [[nodiscard]] int leaf_count() const { return m_leaves; }
  [[nodiscard]] int interior_count() const { return m_interior; }

 private:
  /// A table in the block.
  struct table {
    std::size_t begin = 0;
    int count = 0;
  };
  struct stencil_table {
    table partners, distances;
    int reach;
    std::array<int, group_count + 1> begin;
  };
  template <class T>
  table store(const std::vector<T>& values);
  stencil_table store(const stencil& s);
  void store_nodes(const octree& tree, double xscale);
  void store_seams(const std::vector<int>& surroundings, const std::vector<int>& parents);

  static constexpr std::size_t alignment = 16;  ///< of tables in the block
  static_assert(alignment <= __STDCPP_DEFAULT_NEW_ALIGNMENT__);

  int m_leaves, m_interior;
  std::vector<std::byte> m_bytes;
  table m_surroundings, m_parents, m_octants, m_children, m_cell_sizes, m_pairs;
  stencil_table m_far, m_far_in_root, m_near, m_all;
  std::vector<table> m_levels;
  table m_beside_finer, m_beside_coarser;
};

}  // namespace stars
