// SPDX-License-Identifier: Apache-2.0
/// \file
/// Coarse cells from fine ones: means over eight children.
#pragma once

#include "mesh/layout.hpp"
#include "mesh/level_link.hpp"
#include "mesh/octant_cells.hpp"
#include "transfer/field_set.hpp"

namespace stars {

/// Returns the mean of the values of eight children (x + 2y + 4z). Opposite children are added
/// first: the values of `prolongation` then give their mean without rounding (`split`). Mirror
/// images have the same bits.
constexpr double mean_of_children(const double (&u)[octant_count]) {
  return 0.125 * (((u[0] + u[7]) + (u[1] + u[6])) + ((u[2] + u[5]) + (u[3] + u[4])));
}

/// The needed cells of coarse sub-grids <- the means of their children. Every field is
/// a density, also the angular momentum about the origin, so the means conserve it. No coarse cell
/// may be in two links; the coarse slots may be written by several links at a time. Range (64,
/// fields, count).
struct restriction {
  const double* from;       ///< [slots][15][512], the fine ones
  double* to;               ///< [slots][15][512], the coarse ones; may be the same memory
  const level_link* links;  ///< [count]
  int count;
  field_set fields = field_set::all;

  constexpr extent range() const { return {cells_per_octant, field_count_of(fields), count}; }
  template <class Index>
  constexpr void operator()(Index i) const {
    const level_link link = links[i.z];
    if (!link.cells.contains(i.x)) return;
    const triple p = child_cell(i.x, 0), c = coarse_cell(link.octant, i.x);
    const int f = field_of(fields, i.y);
    const double* in = from + compact_at(link.fine, f, p.x, p.y, p.z);
    double u[octant_count];
    for (int k = 0; k < octant_count; ++k) {
      u[k] = in[(k & 1) + (k >> 1 & 1) * compact.row + (k >> 2) * compact.plane];
    }
    to[compact_at(link.coarse, f, c.x, c.y, c.z)] = mean_of_children(u);
  }
};

}  // namespace stars
