// SPDX-License-Identifier: Apache-2.0
/// \file
/// The fields of any cell of a sub-grid with ghosts, by the tables of its neighbours.
#pragma once

#include "mesh/ghost_regions.hpp"
#include "mesh/layout.hpp"
#include "transfer/boundary.hpp"

namespace stars {

/// The stored cell from which a cell of a sub-grid with ghosts gets its values.
struct cell_source {
  triple side;          ///< the direction in which a ghost is; (0, 0, 0): the cell is interior
  ghost_source source;  ///< its sub-grid, and the rules by which the cell was found
  triple cell;          ///< its position there

  /// `at`: the cell, -3 … 10 along each axis, of the sub-grid in `slot`. `sources`: its row, [26].
  static constexpr cell_source of(triple at, int slot, const ghost_source* sources) {
    const triple v = {side_of(at.x), side_of(at.y), side_of(at.z)};
    const ghost_source s = v == triple{} ? ghost_source{slot, {}} : sources[direction_index(v)];
    return {v,
            s,
            {source_cell(at.x, v.x, s.rule[0]), source_cell(at.y, v.y, s.rule[1]),
             source_cell(at.z, v.z, s.rule[2])}};
  }
  /// Returns the offset of its first field in a state [slots][15][512].
  constexpr index_type offset() const { return compact_at(source.slot, 0, cell.x, cell.y, cell.z); }
  /// Returns whether all fields but the angular momentum are as stored.
  constexpr bool keeps_momentum() const {
    for (const axis_rule r : source.rule) {
      if (r != axis_rule::inside && r != axis_rule::wrap) return false;
    }
    return true;
  }

 private:
  static constexpr int side_of(int i) { return i < 0 ? -1 : i >= edge ? 1 : 0; }
};

/// Returns the coordinate of the centre of cell `i` along an axis.
constexpr double cell_centre(const subgrid_frame& in, int axis, int i) {
  return (in.lower[axis] + (2 * i + 1)) * in.half_dx;
}

/// u <- all fields of the cell `at` of the sub-grid in `slot`, as ghost_fill gives them. `weight`:
/// of gas beyond walls, gravity / (gamma - 1). Without `tracer` tau is not read, as its owner may
/// be re-setting it.
constexpr void gather_cell(const double* state, const subgrid_frame* frames,
                           const ghost_source* sources, int slot, triple at,
                           double (&u)[field_count], double weight, bool tracer = true) {
  const cell_source c = cell_source::of(at, slot, sources);
  const double* in = state + c.offset();
  for (int f = 0; f < field_count; ++f)
    u[f] = f != field::tau || tracer ? in[f * compact.field] : 0.0;
  if (c.source.plain()) return;
  double there[3] = {}, here[3] = {};
  for (int a = 0; a < 3; ++a) {
    there[a] = cell_centre(frames[c.source.slot], a, c.cell[a]);
    here[a] = cell_centre(frames[slot], a, at[a]);
  }
  const auto& rule = c.source.rule;
  boundary_transform{c.side, {rule[0], rule[1], rule[2]}, weight}(u, there, here);
}

}  // namespace stars
