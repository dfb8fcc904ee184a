// SPDX-License-Identifier: Apache-2.0
/// \file
/// The order of the cells of a node in the arrays of gravity.
///
/// Cells that are even or odd on each axis alike interact with cells at the same distances, so they
/// are stored together: 8 groups, by parity, of 4³ cells. A group is also the place of one child
/// of each cell of an octant of the parent.
#pragma once

#include "mesh/layout.hpp"
#include "mesh/octant_cells.hpp"

namespace stars {

inline constexpr int group_edge = octant_edge;
inline constexpr int group_count = octant_count;  ///< by parity: x + 2y + 4z
inline constexpr int cells_per_group = cells_per_octant;

constexpr int parity_of(const triple& c) { return (c.x & 1) | (c.y & 1) << 1 | (c.z & 1) << 2; }
/// Returns 0 or 1 on each axis.
constexpr triple parity_vector(int parity) { return {parity & 1, parity >> 1 & 1, parity >> 2}; }

/// Return the place in its group of the cell with a position in it, and the position of a place.
constexpr int place_in_group(const triple& k) {
  return k.x + group_edge * (k.y + group_edge * k.z);
}
constexpr triple position_in_group(int place) { return place_in_octant(place); }
/// Returns the side of a node, or of a neighbour, on which a position along an axis is: -1, 0 or 1.
constexpr int side_of(int position) { return position < 0 ? -1 : position < group_edge ? 0 : 1; }

/// Return the place of cell `c` in the arrays of a node, and the cell at a place.
constexpr int place_of_cell(const triple& c) {
  return parity_of(c) * cells_per_group + place_in_group({c.x >> 1, c.y >> 1, c.z >> 1});
}
constexpr triple cell_at_place(int place) {
  return child_cell(place % cells_per_group, place / cells_per_group);
}

/// Where a cell of an interior node has its 8 children: in the node of an octant, at one place of
/// each group.
struct children_place {
  int octant;
  int in_group;
};
/// Return the place in a node of the cell with these children, and the children of the cell at a
/// place.
constexpr int place_of_parent(const children_place& c) {
  return place_of_cell(coarse_cell(c.octant, c.in_group));
}
constexpr children_place children_of(int place) {
  const triple c = cell_at_place(place);
  return {c.x / group_edge + 2 * (c.y / group_edge) + 4 * (c.z / group_edge),
          place_in_group({c.x % group_edge, c.y % group_edge, c.z % group_edge})};
}

}  // namespace stars
