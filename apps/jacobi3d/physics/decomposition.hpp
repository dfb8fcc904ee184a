// SPDX-License-Identifier: Apache-2.0
/// \file
/// The decomposition of the grid into blocks.
#pragma once

#include <optional>

#include "layout.hpp"

namespace jacobi3d {

/// A grid of cells and the number of blocks along each axis. Blocks are numbered along x first,
/// then y, then z; along an axis their extents differ by at most one cell. A part is a box of
/// neighbouring blocks that are kept together. All parts have the same number of blocks, and are
/// numbered like blocks.
struct decomposition {
  triple grid;
  triple blocks;
  triple parts{1, 1, 1};  ///< along each axis; divides the number of blocks

  constexpr int count() const { return blocks.x * blocks.y * blocks.z; }
  /// Returns the position of a block, 0 ≤ number < count.
  constexpr triple place(int number) const {
    return {number % blocks.x, number / blocks.x % blocks.y, number / blocks.x / blocks.y};
  }
  constexpr int number(triple place) const {
    return place.x + blocks.x * (place.y + blocks.y * place.z);
  }
  /// Returns the first cell of a block in the grid.
  constexpr triple origin(triple place) const {
    return {cut(place.x, grid.x, blocks.x), cut(place.y, grid.y, blocks.y),
            cut(place.z, grid.z, blocks.z)};
  }
  constexpr triple extent(triple place) const {
    const triple a = origin(place), b = origin({place.x + 1, place.y + 1, place.z + 1});
    return {b.x - a.x, b.y - a.y, b.z - a.z};
  }
  /// Returns the block beyond a face; none at the grid's boundary, which is not periodic.
  constexpr std::optional<triple> neighbour(triple place, face f) const {
    const triple d = direction(f);
    const triple n{place.x + d.x, place.y + d.y, place.z + d.z};
    const bool inside =
        n.x >= 0 && n.x < blocks.x && n.y >= 0 && n.y < blocks.y && n.z >= 0 && n.z < blocks.z;
    return inside ? std::optional<triple>(n) : std::nullopt;
  }
  constexpr int part_count() const { return parts.x * parts.y * parts.z; }
  /// Returns the number of the part to which a block belongs.
  constexpr int part(triple place) const {
    const triple each{blocks.x / parts.x, blocks.y / parts.y, blocks.z / parts.z};
    return place.x / each.x + parts.x * (place.y / each.y + parts.y * (place.z / each.z));
  }
  /// Returns the number of cells at cuts between blocks, counted on one side: half of the cells
  /// sent in a step.
  constexpr offset surface() const { return surface_of(blocks); }
  /// Returns the number of these cells at cuts between parts.
  constexpr offset surface_of_parts() const { return surface_of(parts); }

 private:
  constexpr offset surface_of(triple pieces) const {
    return offset{pieces.x - 1} * grid.y * grid.z + offset{pieces.y - 1} * grid.x * grid.z +
           offset{pieces.z - 1} * grid.x * grid.y;
  }
  static constexpr int cut(int i, int cells, int pieces) {
    return static_cast<int>(offset{i} * cells / pieces);
  }
};

/// Cuts a grid into `parts` parts with the least surface between them, and each part into `blocks`
/// blocks of at least one cell with the least surface between these. Of equal decompositions it
/// takes the one with more cuts across z, then across y, whose faces are contiguous. The total
/// surface may be larger than without parts.
/// \throws std::invalid_argument whose text begins with the wrong argument, if an extent, `parts`
/// or `blocks` is below 1, or if there is no decomposition into so many blocks
[[nodiscard]] decomposition decompose(triple grid, int parts, int blocks = 1);

/// Cuts a grid into the given number of blocks along each axis, and these into `parts` parts with
/// the least surface between them, or into a single part if no cut into `parts` equal boxes of
/// blocks exists.
/// \throws std::invalid_argument whose text begins with the wrong argument, if an extent or `parts`
/// is below 1, or there are more blocks than cells along an axis or 2^31 blocks or more
[[nodiscard]] decomposition decompose_into(triple grid, triple blocks, int parts);

}  // namespace jacobi3d
