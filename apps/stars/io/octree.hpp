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

/// Returns the next coarser level: every node consists of its 8 children, each of which fills an
/// octant; each cell is the mean of 2^3 cells. Both levels are in Z-order, with layout
/// [node][field][z][y][x]; `fine.size()` must be a multiple of 8 * node_values. The mean does not
/// depend on the orientation of the axes.
[[nodiscard]] std::vector<double> restrict_level(std::span<const double> fine);

}  // namespace stars
