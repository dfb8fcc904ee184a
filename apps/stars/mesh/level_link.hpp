// SPDX-License-Identifier: Apache-2.0
/// \file
/// A coarse sub-grid and one of its octants as a sub-grid of the next level.
#pragma once

#include "mesh/octant_cells.hpp"

namespace stars {

/// A coarse sub-grid and one of its octants as a sub-grid of the next level.
struct level_link {
  int coarse, fine;  ///< slots
  int octant;        ///< x + 2y + 4z
  octant_set cells;  ///< the coarse cells of the octant that are needed
};

}  // namespace stars
