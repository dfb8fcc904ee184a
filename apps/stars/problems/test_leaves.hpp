// SPDX-License-Identifier: Apache-2.0
/// \file
/// The refinement tests of leaves.
#pragma once

#include "mesh/leaf_flags.hpp"
#include "problems/refinement_rule.hpp"
#include "transfer/restriction.hpp"

namespace stars {

/// Flags the cells of leaves to which one of the rules applies. Range (144, 1, count): x counts the
/// rows of `leaf_flags::band`.
struct test_leaves {
  const double* u;               ///< [count][15][14][14][14], ghosts filled
  const refinement_rule* rules;  ///< [rule_count]
  leaf_flags* flags;             ///< [count]
  int rule_count;
  int count;

  constexpr extent range() const { return {leaf_flags::rows, 1, count}; }
  template <class Index>
  constexpr void operator()(Index i) const {
    const double* leaf = u + index_type{i.z} * ghosted.block;
    leaf_flags& to = flags[i.z];
    const int y = i.x % leaf_flags::band_edge - leaf_flags::band_width;
    const int z = i.x / leaf_flags::band_edge - leaf_flags::band_width;
    const int sides = int(is_beyond(y)) + int(is_beyond(z));
    unsigned own = 0, band = 0;
    for (int x = -leaf_flags::band_width; x < edge + leaf_flags::band_width; ++x) {
      if (sides + int(is_beyond(x)) > 1) continue;
      const bool applies = any_applies(rules, rule_count, fine_cells{leaf, x, y, z});
      band |= unsigned{applies};
      if (!is_beyond(x)) own |= unsigned{applies} << x;
    }
    to.band[i.x] = static_cast<std::uint8_t>(band);
    if (sides == 0) to.own[y + edge * z] = static_cast<leaf_flags::row_bits>(own);
    if (i.x < octant_edge * octant_edge) to.coarse[i.x] = coarse_row(leaf, i.x);
  }

 private:
  static constexpr bool is_beyond(int i) { return i < 0 || i >= edge; }

  struct fine_cells {
    const double* u;
    int x, y, z;
    constexpr double operator()(int f, int axis, int step) const {
      return u[ghosted_at(0, f, x + (axis == 0 ? step : 0), y + (axis == 1 ? step : 0),
                          z + (axis == 2 ? step : 0))];
    }
  };
  /// Means of eight cells.
  struct coarse_cells {
    const double* u;
    int x, y, z;
    constexpr double operator()(int f, int axis, int step) const {
      const double* first =
          u + ghosted_at(0, f, 2 * (x + (axis == 0 ? step : 0)), 2 * (y + (axis == 1 ? step : 0)),
                         2 * (z + (axis == 2 ? step : 0)));
      double children[octant_count];
      for (int k = 0; k < octant_count; ++k)
        children[k] = first[(k & 1) + (k >> 1 & 1) * ghosted.row + (k >> 2) * ghosted.plane];
      return mean_of_children(children);
    }
  };
  constexpr std::uint8_t coarse_row(const double* leaf, int row) const {
    unsigned bits = 0;
    for (int x = 0; x < octant_edge; ++x) {
      const coarse_cells cells{leaf, x, row % octant_edge, row / octant_edge};
      bits |= unsigned{any_applies(rules, rule_count, cells)} << x;
    }
    return static_cast<std::uint8_t>(bits);
  }
};

}  // namespace stars
