// SPDX-License-Identifier: Apache-2.0
/// \file
/// The cells of an octant of a sub-grid, sets of them, and their children in the sub-grid of the
/// next level.
#pragma once

#include <cstdint>

#include "mesh/subgrid.hpp"

namespace stars {

inline constexpr int octant_edge = edge / 2;  ///< cells along an edge of an octant
inline constexpr int cells_per_octant = octant_edge * octant_edge * octant_edge;
inline constexpr int octant_count = 8;  ///< octants of a sub-grid, and children of a cell

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

/// A set of cells of an octant. Cell k is at x + octant_edge (y + octant_edge z).
struct octant_set {
  static constexpr int word_count = cells_per_octant / 64;
  static_assert(cells_per_octant % 64 == 0 && 64 % (octant_edge * octant_edge) == 0,
                "planes of an octant fill words");

  std::uint64_t words[word_count] = {};  ///< cell k is bit k % 64 of word k / 64

  constexpr bool contains(int k) const { return (words[k / 64] >> k % 64 & 1u) != 0; }
  constexpr void add(int k) { words[k / 64] |= std::uint64_t{1} << k % 64; }
  /// Adds the cells whose coordinates are in the sets x, y, z; bit 0 is coordinate 0.
  constexpr void add_box(unsigned x, unsigned y, unsigned z) {
    std::uint64_t plane = 0;
    for (int row = 0; row < octant_edge; ++row)
      plane |= std::uint64_t{(y >> row & 1u) * x} << row * octant_edge;
    for (int k = 0; k < octant_edge; ++k) {
      const int first = k * octant_edge * octant_edge;
      words[first / 64] |= (z >> k & 1u) * plane << first % 64;
    }
  }
  /// Returns the cells with the coordinates y and z; bit 0 is x = 0.
  constexpr unsigned row(int y, int z) const {
    const int first = octant_edge * (y + octant_edge * z);
    return static_cast<unsigned>(words[first / 64] >> first % 64) & ((1u << octant_edge) - 1);
  }
  constexpr bool empty() const { return *this == octant_set{}; }

  friend constexpr bool operator==(const octant_set&, const octant_set&) = default;

  /// Returns the set of all cells.
  static constexpr octant_set all() {
    octant_set whole;
    for (std::uint64_t& w : whole.words) w = ~std::uint64_t{0};
    return whole;
  }
};

}  // namespace stars
