// SPDX-License-Identifier: Apache-2.0
/// \file
/// Sets of cells of a sub-grid, as bits.
#pragma once

#include <array>
#include <cstdint>

#include "mesh/ghost_regions.hpp"

namespace stars {

inline constexpr int half_edge = edge / 2;  ///< coarse cells along an octant
static_assert(half_edge == 4, "the cells of an octant are 64 bits");

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
  return (pairs & 1u) | (pairs >> 1 & 2u) | (pairs >> 2 & 4u) | (pairs >> 3 & 8u);
}

/// Returns the cells of an octant (bit x + 4y + 16z) whose coordinates are in the sets x, y, z of
/// 4 bits.
constexpr std::uint64_t box_of(unsigned x, unsigned y, unsigned z) {
  const std::uint64_t rows = (y & 1u) | (y & 2u) << 3 | (y & 4u) << 6 | (y & 8u) << 9;
  const std::uint64_t planes = (z & 1u) | std::uint64_t(z & 2u) << 15 |
                               std::uint64_t(z & 4u) << 30 | std::uint64_t(z & 8u) << 45;
  return planes * (rows * x);  // copies of x in each row of y, and of these in each plane of z
}

/// A set of cells of a sub-grid, by octant in the form of `level_link::cells`.
struct cell_set {
  std::array<std::uint64_t, 8> octants{};

  /// Adds the cells whose coordinates are in the sets x, y, z of 8 bits.
  constexpr void add_box(unsigned x, unsigned y, unsigned z) {
    const auto half = [](unsigned bits, unsigned upper) {
      return bits >> half_edge * upper & 0xfu;
    };
    for (unsigned o = 0; o < 8; ++o)
      octants[o] |= box_of(half(x, o & 1u), half(y, o >> 1 & 1u), half(z, o >> 2));
  }
  constexpr bool empty() const { return octants == std::array<std::uint64_t, 8>{}; }
};

}  // namespace stars
