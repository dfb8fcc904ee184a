// SPDX-License-Identifier: Apache-2.0
/// \file
/// The refinement tests of leaves.
#pragma once

#include <cstdint>
#include <type_traits>

#include "mesh/leaf_flags.hpp"
#include "mesh/subgrid.hpp"
#include "problems/refinement_rule.hpp"
#include "transfer/restriction.hpp"

namespace stars {

/// The cells of a leaf to which a rule applies.
struct tested_rows {
  static constexpr int band_width = 2;                     ///< layers of cells around the leaf
  static constexpr int band_edge = edge + 2 * band_width;  ///< 12
  static constexpr int rows = band_edge * band_edge;       ///< (y + 2) + 12 (z + 2)
  static constexpr int coarse_edge = edge / 2;

  using row_bits = std::conditional_t<(edge > 8), std::uint16_t, std::uint8_t>;

  /// By row: whether a rule applies in one of its cells, -2 … 9. Cells beyond edges and vertices
  /// are not tested.
  std::uint8_t band[rows];
  row_bits own[edge * edge];                       ///< by row y + 8z of the leaf: bit x
  std::uint8_t coarse[coarse_edge * coarse_edge];  ///< the same for the means of 8 cells, 4^3
};

/// Finds the cells of leaves to which one of the rules applies. Range (144, 1, count): x counts the
/// rows of `tested_rows::band`.
struct test_leaves {
  const double* u;               ///< [count][15][14][14][14], ghosts filled
  const refinement_rule* rules;  ///< [rule_count]
  tested_rows* found;            ///< [count]
  int rule_count;
  int count;

  constexpr extent range() const { return {tested_rows::rows, 1, count}; }
  template <class Index>
  constexpr void operator()(Index i) const {
    const double* leaf = u + index_type{i.z} * ghosted.block;
    tested_rows& to = found[i.z];
    const int y = i.x % tested_rows::band_edge - tested_rows::band_width;
    const int z = i.x / tested_rows::band_edge - tested_rows::band_width;
    const int sides = int(is_beyond(y)) + int(is_beyond(z));
    unsigned own = 0, band = 0;
    for (int x = -tested_rows::band_width; x < edge + tested_rows::band_width; ++x) {
      if (sides + int(is_beyond(x)) > 1) continue;
      const bool applies = any_applies(rules, rule_count, fine_cells{leaf, x, y, z});
      band |= unsigned{applies};
      if (!is_beyond(x)) own |= unsigned{applies} << x;
    }
    to.band[i.x] = static_cast<std::uint8_t>(band);
    if (sides == 0) to.own[y + edge * z] = static_cast<tested_rows::row_bits>(own);
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

/// Makes the flags of leaves from their rows. Range (count, 1, 1).
struct summarize_tests {
  const tested_rows* found;  ///< [count]
  leaf_flags* flags;         ///< [count]
  int count;

  constexpr extent range() const { return {count, 1, 1}; }
  template <class Index>
  constexpr void operator()(Index i) const {
    const tested_rows& rows = found[i.x];
    leaf_flags all;
    all.set(leaf_flags::in_band, any(rows.band));
    all.set(leaf_flags::in_coarse, any(rows.coarse));
    for (int axis = 0; axis < 3; ++axis)
      for (int side = 0; side < 2; ++side) {
        const int face = leaf_flags::face(axis, side);
        all.set(leaf_flags::own_at_face + face, any_at_face(rows.own, edge, axis, side));
        all.set(leaf_flags::coarse_at_face + face,
                any_at_face(rows.coarse, tested_rows::coarse_edge, axis, side));
      }
    flags[i.x] = all;
  }

 private:
  template <class Row, int Size>
  static constexpr bool any(const Row (&rows)[Size]) {
    unsigned all = 0;
    for (const Row row : rows) all |= row;
    return all != 0;
  }
  /// Returns whether a rule applies in a cube of `size` cells, in the two layers at one of its
  /// faces.
  template <class Row>
  static constexpr bool any_at_face(const Row* rows, int size, int axis, int side) {
    const int first = side == 0 ? 0 : size - 2;
    unsigned bits = 0;
    for (int k = 0; k < size * size; ++k) {
      const int layer = axis == 1 ? k % size : k / size;
      if (axis == 0 || (layer >= first && layer < first + 2)) bits |= rows[k];
    }
    return (axis == 0 ? bits >> first & 3u : bits) != 0;
  }
};

}  // namespace stars
