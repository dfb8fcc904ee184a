// SPDX-License-Identifier: Apache-2.0
/// \file
/// Faces of coarse sub-grids whose neighbours are divided.
#pragma once

namespace stars {

/// A face of a coarse sub-grid and the four sub-grids of the next level on its other side, which
/// may be beyond a periodic boundary.
struct face_link {
  int coarse;   ///< slot
  int axis;     ///< normal to the face
  int side;     ///< of the coarse sub-grid: 0 lower, 1 upper
  int fine[4];  ///< slots, in the order a + 2b of quadrants; a and b: the other axes, ascending
};

/// A face of a fine sub-grid, which covers a quadrant of a coarse face. The means of its fluxes,
/// [15][4][4], are a row of an array.
struct fine_face {
  int slot;
  int axis, side;  ///< side of the fine sub-grid
  int row;
  /// The coordinate of the coarse face minus that of the fine face, along the axis: not 0 across a
  /// periodic boundary.
  double shift;
};

/// A face of a coarse sub-grid, and the rows that have its fluxes.
struct coarse_face {
  int slot;
  int axis, side;
  int rows[4];  ///< by quadrant, as in face_link
};

}  // namespace stars
