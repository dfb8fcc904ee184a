// SPDX-License-Identifier: Apache-2.0
/// \file
/// The cells of an octant of a sub-grid, and their children in the sub-grid of the next level.
#pragma once

#include <cstdint>

#include "mesh/level_link.hpp"
#include "mesh/subgrid.hpp"

namespace stars {

inline constexpr int octant_edge = edge / 2;
inline constexpr int cells_per_octant = octant_edge * octant_edge * octant_edge;
inline constexpr int octant_count = 8;  ///< octants of a sub-grid, and children of a cell
static_assert(cells_per_octant == 64, "one bit of level_link::cells for each cell");

/// Returns whether a link needs cell `k` of its octant.
constexpr bool needs(const level_link& link, int k) {
  return (link.cells >> k & std::uint64_t{1}) != 0;
}
/// Returns the position of cell `k` in its octant.
constexpr triple place_in_octant(int k) {
  return {k % octant_edge, k / octant_edge % octant_edge, k / (octant_edge * octant_edge)};
}
/// Returns the position in the coarse sub-grid of cell `k` of an octant.
constexpr triple coarse_cell(int octant, int k) {
  const triple c = place_in_octant(k);
  return {c.x + (octant & 1) * octant_edge, c.y + (octant >> 1 & 1) * octant_edge,
          c.z + (octant >> 2) * octant_edge};
}
/// Returns the position in the fine sub-grid of child `c` (x + 2y + 4z) of cell `k` of an octant.
constexpr triple child_cell(int k, int c) {
  const triple p = place_in_octant(k);
  return {2 * p.x + (c & 1), 2 * p.y + (c >> 1 & 1), 2 * p.z + (c >> 2)};
}

}  // namespace stars
