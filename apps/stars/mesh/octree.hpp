// SPDX-License-Identifier: Apache-2.0
/// \file
/// The octree whose leaves are the sub-grids.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "mesh/node_key.hpp"
#include "mesh/node_table.hpp"
#include "mesh/subgrid.hpp"

namespace stars {

/// A set of leaves that tile the domain, with 2:1 balance: leaves that share a face, an edge or a
/// vertex differ by at most one level, in a periodic domain also across its faces.
///
/// An immutable value: all functions are const and may be called by several threads at a time.
/// Nodes are numbered: leaves from 0 on in Z-order, then interior nodes, each behind its
/// children, so that the root has the last number. Two trees are equal if they have the same leaves
/// and boundary.
///
/// Memory: up to 100 bytes a leaf. Construction sorts the leaves unless they are in Z-order; the
/// remainder takes linear time.
class octree {
 public:
  /// Makes the tree with these leaves, in any order. Throws std::invalid_argument that names a
  /// node if a key is not valid, if leaves overlap or leave a gap, or if the balance is violated.
  explicit octree(std::vector<node_key> leaves, boundary_kind boundary = boundary_kind::outflow);
  /// Returns the tree with 8^level leaves. Throws std::invalid_argument unless 0 ≤ level ≤
  /// max_level.
  [[nodiscard]] static octree uniform(int level, boundary_kind boundary = boundary_kind::outflow);

  /// Returns the same leaves in a domain with another boundary. Throws std::invalid_argument if the
  /// balance is violated across its periodic faces.
  [[nodiscard]] octree with_boundary(boundary_kind kind) const;

  [[nodiscard]] boundary_kind boundary() const { return m_boundary; }
  [[nodiscard]] bool is_periodic() const { return m_boundary == boundary_kind::periodic; }

  [[nodiscard]] int leaf_count() const { return m_leaf_count; }
  [[nodiscard]] int leaf_count(int level) const {
    return level >= 0 && level <= finest_level() ? m_leaves_by_level[std::size_t(level)] : 0;
  }
  [[nodiscard]] int node_count() const { return int(m_keys.size()); }
  [[nodiscard]] int root() const { return node_count() - 1; }
  [[nodiscard]] int finest_level() const { return int(m_leaves_by_level.size()) - 1; }

  /// Returns the keys of the leaves, by number.
  [[nodiscard]] std::span<const node_key> leaves() const {
    return {m_keys.data(), std::size_t(m_leaf_count)};
  }
  [[nodiscard]] const node_key& key(int node) const { return m_keys[std::size_t(node)]; }
  [[nodiscard]] bool is_leaf(int node) const { return node < m_leaf_count; }
  /// Returns the parent; -1 for the root.
  [[nodiscard]] int parent(int node) const { return m_parents[std::size_t(node)]; }
  /// Returns the children of an interior node, by octant.
  [[nodiscard]] const std::array<int, 8>& children(int node) const {
    return m_children[std::size_t(node - m_leaf_count)];
  }
  /// Returns the node with this key; -1 if the tree has no such node. Constant time.
  [[nodiscard]] int find(const node_key& key) const { return m_numbers.find(key); }
  /// Returns the smallest node that contains the cube `key`, which must be valid.
  [[nodiscard]] int find_containing(node_key key) const;

  friend bool operator==(const octree& a, const octree& b) {
    return a.m_boundary == b.m_boundary && a.m_leaf_count == b.m_leaf_count && a.m_keys == b.m_keys;
  }

 private:
  void check_tiling() const;
  void count_levels();
  void add_interior();
  void check_balance() const;

  boundary_kind m_boundary;
  int m_leaf_count = 0;
  std::vector<node_key> m_keys;                ///< by node
  std::vector<int> m_parents;                  ///< by node
  std::vector<std::array<int, 8>> m_children;  ///< by interior node
  std::vector<int> m_leaves_by_level;
  node_table m_numbers;
};

}  // namespace stars
