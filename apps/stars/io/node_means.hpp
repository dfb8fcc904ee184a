// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "mesh/mesh.hpp"

namespace stars {

/// Extents of the data of one octree node: [field][z][y][x], x fastest.
inline constexpr std::size_t stored_fields = field_count;
inline constexpr std::size_t node_edge = edge;
inline constexpr std::size_t node_cells = cells_per_subgrid;
inline constexpr std::size_t node_values = stored_fields * node_cells;
/// Values of an octant of a node: [field][4][4][4].
inline constexpr std::size_t octant_values = node_values / 8;

/// An octant of an interior node whose cells one part computes for another part.
struct octant_transfer {
  int child;  ///< the number of the node that fills the octant
  int from;   ///< the part that has the child
  int to;     ///< the part that has the parent

  friend bool operator==(const octant_transfer&, const octant_transfer&) = default;
};

/// The nodes that one part of the domain writes: its leaves, and the interior nodes whose first
/// leaf belongs to it. A part is a run of consecutive leaves. Interior nodes consist of their 8
/// children, each of which fills an octant; each cell is the mean of 2^3 cells. The mean does not
/// depend on the orientation of the axes, nor on the parts.
///
/// If there are several parts, they exchange octants before `data` is read: each part does its
/// `transfers` in their order, by `give` and a message or by a message and `take`. Messages go from
/// higher to lower parts only. The exchange cannot deadlock if sending does not wait.
///
/// Memory: 1/7 of the data of the leaves, and 8 bytes for each node of the tree. Not thread safe.
class node_means {
 public:
  /// `first_leaves` has the first leaf of each part, as `divide` returns them; `leaves` is the data
  /// of the leaves of `part`, [leaf][15][8][8][8]. Both the tree and `leaves` must outlive the
  /// object. Throws std::invalid_argument unless the parts are runs of at least one leaf that
  /// together are all leaves, and the data fit.
  node_means(const octree& tree, std::span<const int> first_leaves, int part,
             std::span<const double> leaves);
  /// The whole domain as one part.
  node_means(const octree& tree, std::span<const double> leaves);

  [[nodiscard]] const octree& tree() const { return m_tree; }
  [[nodiscard]] int part() const { return m_part; }

  /// Returns the transfers from and to this part, in the order in which they must be done.
  [[nodiscard]] std::span<const octant_transfer> transfers() const { return m_transfers; }
  /// Returns the cells [15][4][4][4] to send for the next transfer, one from this part. Throws
  /// std::logic_error if it is not the next.
  [[nodiscard]] std::vector<double> give(const octant_transfer& next);
  /// Stores the received cells of the next transfer, one to this part. Throws std::logic_error if
  /// it is not the next or has another size.
  void take(const octant_transfer& next, std::span<const double> cells);

  /// Returns the numbers of the part's nodes of a level, in Z-order.
  [[nodiscard]] std::vector<int> nodes(int level) const;
  /// Returns the number of nodes of a level that lower parts have: they come before those of this
  /// part in Z-order.
  [[nodiscard]] int nodes_before(int level) const;
  /// Returns the data [15][8][8][8] of one of the part's nodes. Throws std::logic_error if a
  /// transfer has not been done.
  [[nodiscard]] std::span<const double> data(int node);

 private:
  void number_nodes();
  void list_transfers();
  [[nodiscard]] int part_of(int node) const;
  [[nodiscard]] int end_of(int part) const;
  [[nodiscard]] bool is_own(int node) const { return m_slots[std::size_t(node)] >= 0; }
  [[nodiscard]] std::span<const double> values(int node) const;
  [[nodiscard]] std::span<double> interior(int node);
  void advance(const octant_transfer& next);
  void complete(int end);

  const octree& m_tree;
  std::vector<int> m_firsts;  // first leaf of each part
  int m_part;
  std::span<const double> m_leaves;
  std::vector<int> m_first_leaf;  // by node
  std::vector<int> m_slots;       // by node: in `m_leaves` or `m_interior`; -1: of another part
  std::vector<double> m_interior;
  std::vector<octant_transfer> m_transfers;
  std::size_t m_transferred = 0;
  int m_completed = 0;  // nodes below this number are in their parents
};

}  // namespace stars
