// SPDX-License-Identifier: Apache-2.0
/// \file
/// The tables by which kernels find the positions and the neighbours of sub-grids.
#pragma once

#include <vector>

#include "mesh/mesh.hpp"
#include "mesh/partition.hpp"

namespace stars {

/// The sub-grids of a part: a state [slots][15][512] has its own ones first.
struct subgrid_tables {
  std::vector<subgrid_frame> frames;  ///< [slots]
  std::vector<ghost_source> sources;  ///< [own sub-grids][26 directions], in slots of the part

  /// `dropped_direction`: ghosts in this direction are filled from the sub-grid's own edge, a
  /// deliberate error; -1: none.
  subgrid_tables(const mesh& grid, boundary_kind boundary, const partition& part,
                 int dropped_direction = -1);

  [[nodiscard]] subgrid_view view() const { return {frames.data(), sources.data()}; }
};

}  // namespace stars
