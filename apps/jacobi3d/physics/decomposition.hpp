// SPDX-License-Identifier: Apache-2.0
/// \file
/// How the grid is cut into blocks.
#pragma once

#include <optional>

#include "layout.hpp"

namespace jacobi3d {

/// A grid of cells and the number of blocks along each axis. Blocks are numbered along x first,
/// then y, then z; along an axis their extents differ by at most one cell.
struct decomposition {
  triple grid;
  triple blocks;

  constexpr int count() const { return blocks.x * blocks.y * blocks.z; }
  /// 0 ≤ number < count.
  constexpr triple place(int number) const {
    return {number % blocks.x, number / blocks.x % blocks.y, number / blocks.x / blocks.y};
  }
  constexpr int number(triple place) const {
    return place.x + blocks.x * (place.y + blocks.y * place.z);
  }
  /// The first cell of a block in the grid, and its cells along each axis.
  constexpr triple origin(triple place) const {
    return {cut(place.x, grid.x, blocks.x), cut(place.y, grid.y, blocks.y),
            cut(place.z, grid.z, blocks.z)};
  }
  constexpr triple extent(triple place) const {
    const triple a = origin(place), b = origin({place.x + 1, place.y + 1, place.z + 1});
    return {b.x - a.x, b.y - a.y, b.z - a.z};
  }
  /// The block beyond a face; none at the grid's boundary, which is not periodic.
  constexpr std::optional<triple> neighbour(triple place, face f) const {
    const triple d = direction(f);
    const triple n{place.x + d.x, place.y + d.y, place.z + d.z};
    const bool inside =
        n.x >= 0 && n.x < blocks.x && n.y >= 0 && n.y < blocks.y && n.z >= 0 && n.z < blocks.z;
    return inside ? std::optional<triple>(n) : std::nullopt;
  }
  /// Cells beside a cut, on one side of it: half of what is sent in a step.
  constexpr offset surface() const {
    return offset{blocks.x - 1} * grid.y * grid.z + offset{blocks.y - 1} * grid.x * grid.z +
           offset{blocks.z - 1} * grid.x * grid.y;
  }

 private:
  static constexpr int cut(int i, int cells, int pieces) {
    return static_cast<int>(offset{i} * cells / pieces);
  }
};

/// Cuts a grid into `blocks` blocks of at least one cell with the least surface between them; of
/// equals the one with more cuts across z, then across y, whose faces are contiguous.
/// \throws std::invalid_argument that starts with the option, if an extent or `blocks` is below 1,
/// or if so many blocks do not fit
[[nodiscard]] decomposition decompose(triple grid, int blocks);

}  // namespace jacobi3d
