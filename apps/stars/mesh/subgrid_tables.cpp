// SPDX-License-Identifier: Apache-2.0
#include "mesh/subgrid_tables.hpp"

namespace stars {

subgrid_tables::subgrid_tables(const mesh& grid, boundary_kind boundary, const partition& part,
                               int dropped_direction) {
  for (int slot = 0; slot < part.slot_count(); ++slot)
    frames.push_back(grid.frame_of(part.subgrid_in(slot), boundary));
  for (int n = 0; n < part.count(); ++n)
    for (int d = 0; d < direction_count; ++d) {
      ghost_source s = grid.source(part.first() + n, d, boundary);
      s.slot = part.slot_of(s.slot);
      sources.push_back(d == dropped_direction ? own_edge(n, d) : s);
    }
}

}  // namespace stars
