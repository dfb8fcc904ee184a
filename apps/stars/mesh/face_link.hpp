// SPDX-License-Identifier: Apache-2.0
/// \file
/// A face of a coarse sub-grid and the four sub-grids of the next level on its other side.
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

}  // namespace stars
