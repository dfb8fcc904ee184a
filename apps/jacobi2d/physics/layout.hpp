// SPDX-License-Identifier: Apache-2.0
/// \file
/// Shapes: cells of the grid and of a strip, and their layout in memory.
#pragma once

#include "common/physics/shape.hpp"

namespace jacobi2d {

using apps::offset;

/// Number of cells along x and y.
struct extent {
  int x = 0, y = 0;
  friend constexpr bool operator==(const extent&, const extent&) = default;
};

/// The side of a strip at which a neighbour is: below the first row, above the last row.
enum class side : int { south, north };
inline constexpr side sides[] = {side::south, side::north};

/// A value for each side of a strip.
template <class Value>
struct per_side {
  Value of[2] = {};
  constexpr Value& operator[](side d) { return of[static_cast<int>(d)]; }
  constexpr const Value& operator[](side d) const { return of[static_cast<int>(d)]; }
  friend constexpr bool operator==(const per_side&, const per_side&) = default;
};
/// Rows beside a strip; each pointer is to cell 0.
using rows_beside = per_side<const float*>;

/// The layout of a strip's array: rows of cells 0 ≤ x < n.x, one ghost at each end, and a row of
/// ghosts below and above. Cell 0 of each row is at the begin of a line of 128 bytes if the array
/// is.
struct strip_layout {
  static constexpr int line = 32;  ///< numbers in 128 bytes

  extent n;          ///< cells without ghosts, each at least 1
  offset pitch = 0;  ///< distance of a cell to its neighbour in y

  constexpr strip_layout() = default;
  explicit constexpr strip_layout(extent cells)
      : n(cells), pitch(apps::rounded_up(offset{cells.x} + 2, line)) {}

  /// Returns the offset of a cell, each coordinate in -1 … n.
  constexpr offset at(int x, int y) const { return line + x + (offset{y} + 1) * pitch; }
  /// Returns how many numbers to allocate, 4 bytes each.
  constexpr offset size() const { return line + pitch * (offset{n.y} + 2); }
  /// Return the strip's own row at a side, and the ghost row beyond it.
  constexpr int own_row(side d) const { return d == side::south ? 0 : n.y - 1; }
  constexpr int ghost_row(side d) const { return d == side::south ? -1 : n.y; }
};

/// Cells x ≤ … < end_x of rows y ≤ … < end_y.
struct tile {
  int x, end_x, y, end_y;
};

}  // namespace jacobi2d
