// SPDX-License-Identifier: Apache-2.0
/// \file
/// Sets of cells of a sub-grid, as bits.
#pragma once

#include <algorithm>
#include <array>

#include "mesh/ghost_regions.hpp"
#include "mesh/octant_cells.hpp"

namespace stars {

/// Returns the cells along an axis that the ghosts of a direction component read, as `source_cell`
/// gives them; bit 0 is cell 0.
constexpr unsigned cells_read(int component, axis_rule rule) {
  constexpr unsigned last = edge - 1, low = (1u << ghost_width) - 1,
                     high = low << (edge - ghost_width);
  if (component == 0) return (1u << edge) - 1;
  if (rule == axis_rule::zero_gradient) return component < 0 ? 1u : 1u << last;
  // A neighbour has its near cells at its other end; a mirror image, at the same end.
  return (component < 0) == (rule == axis_rule::mirror) ? low : high;
}

/// Returns the coarse cells along an axis that contain the fine cells `bits`.
constexpr unsigned coarsened(unsigned bits) {
  const unsigned pairs = bits | bits >> 1;
  unsigned coarse = 0;
  for (int k = 0; k < octant_edge; ++k) coarse |= (pairs >> 2 * k & 1u) << k;
  return coarse;
}

/// A set of cells of a sub-grid, by octant.
struct cell_set {
  std::array<octant_set, octant_count> octants{};

  /// Adds the cells whose coordinates are in the sets x, y, z; bit 0 is coordinate 0.
  constexpr void add_box(unsigned x, unsigned y, unsigned z) {
    const auto half = [](unsigned bits, unsigned upper) {
      return bits >> octant_edge * upper & ((1u << octant_edge) - 1);
    };
    for (unsigned o = 0; o < octant_count; ++o)
      octants[o].add_box(half(x, o & 1u), half(y, o >> 1 & 1u), half(z, o >> 2));
  }
  constexpr bool empty() const {
    return std::all_of(octants.begin(), octants.end(), [](const auto& o) { return o.empty(); });
  }
};

}  // namespace stars
