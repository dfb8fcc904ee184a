// SPDX-License-Identifier: Apache-2.0
/// \file
/// The order of the cells of a node in the arrays of gravity.
///
/// Cells that are even or odd on each axis alike interact with cells at the same distances, so they
/// are stored together: 8 groups, by parity, of 4³ cells. A group is also the place of one child
/// of each cell of an octant of the parent.
#pragma once

#include "mesh/layout.hpp"

namespace stars {

inline constexpr int group_edge = edge / 2;
inline constexpr int group_count = 8;  ///< by parity: x + 2y + 4z
inline constexpr int cells_per_group = cells_per_subgrid / group_count;

constexpr int parity_of(const triple& c) { return (c.x & 1) | (c.y & 1) << 1 | (c.z & 1) << 2; }
/// Returns 0 or 1 on each axis.
constexpr triple parity_vector(int parity) { return {parity & 1, parity >> 1 & 1, parity >> 2}; }

/// Returns the place in its group of the cell with position `k` in it.
constexpr int place_in_group(const triple& k) {
  return k.x + group_edge * (k.y + group_edge * k.z);
}
constexpr triple position_in_group(int place) {
  return {place % group_edge, place / group_edge % group_edge, place / (group_edge * group_edge)};
}

/// Return the place of cell `c` in the arrays of a node, and the cell at a place.
constexpr int place_of_cell(const triple& c) {
  return parity_of(c) * cells_per_group + place_in_group({c.x >> 1, c.y >> 1, c.z >> 1});
}
constexpr triple cell_at_place(int place) {
  const triple k = position_in_group(place % cells_per_group);
  const triple p = parity_vector(place / cells_per_group);
  return {2 * k.x + p.x, 2 * k.y + p.y, 2 * k.z + p.z};
}

/// Returns the place in a node of the cell of an octant that has its 8 children at the place `k` of
/// each group of the child node.
constexpr int place_of_parent(int octant, int k) {
  const triple c = position_in_group(k), o = parity_vector(octant);
  return place_of_cell({c.x + group_edge * o.x, c.y + group_edge * o.y, c.z + group_edge * o.z});
}

}  // namespace stars
