// SPDX-License-Identifier: Apache-2.0
/// \file
/// Fine cells from coarse ones.
#pragma once

#include "transfer/prolonged_octant.hpp"

namespace stars {

/// The eight children of each needed coarse cell <- the cell and its 26 neighbours. A
/// child in the corner (±, ±, ±) of its cell is
///   u + 9/64 (sx + sy + sz) + 3/64 (sxy + sxz + syz) + 1/64 sxyz
/// with the limited slopes along the axes and diagonals towards this corner. Exceptions: the
/// deviation of rho is the sum of those of the species; the angular momentum is r x s of each child
/// plus one spin for all eight, such that the mean of the children is that of the coarse cell.
///
/// The means of the children (`mean_of_children`) are the values of the coarse cells: exactly for
/// rho, egas, tau and the species; within two units in the last place of the largest child for pot
/// and momentum; within the rounding of r x s for angular momentum. Where rho, egas, tau and the
/// species are positive, so are their children. A NaN reaches the children whose stencil has it.
///
/// Cells of other sub-grids and beyond the domain are found through the coarse sub-grid's ghost
/// sources. No cell that the stencils of needed cells contain may be written in the same launch.
///
/// Two forms with the same bits. One index for each coarse cell and group of fields, range (64, 3,
/// count). Or, with `sweep`, one vector for each octant, range (width, 1, count): the call with
/// x = 0 does all the work.
struct prolongation {
  const double* from;           ///< [slots][15][512], the coarse ones
  double* to;                   ///< [slots][15][512], the fine ones; may be the same memory
  const subgrid_frame* frames;  ///< [slots] of `from`
  const ghost_source* sources;  ///< [slots][26] of `from`: the rows of coarse slots
  const level_link* links;      ///< [count]
  int count;
  double theta;              ///< theta_of_ghosts or theta_of_refinement
  int sweep = 0;             ///< 0, or the lanes of the vectors that sweep
  bool energy_only = false;  ///< all fields, or egas alone
  double weight = 0.0;       ///< of gas beyond walls: gravity / (gamma - 1), as in ghost_fill

  static constexpr int host_grain = 64;  ///< for sweeps: eight octants with eight lanes

  constexpr extent range() const {
    if (sweep > 0) return {sweep, 1, count};
    return {cells_per_octant, energy_only ? 1 : static_cast<int>(child_group::count), count};
  }
  /// For a kernel without `sweep`.
  template <class Index>
  constexpr void operator()(Index i) const {
    const level_link link = links[i.z];
    if (!link.cells.contains(i.x)) return;
    const double half_dx = frames[link.coarse].half_dx;
    coarse_cells<double> cells(*this, link, i.x);
    child_fields<double, coarse_cells<double>>{cells, theta, half_dx}.compute(
        energy_only ? child_group::energy : static_cast<child_group>(i.y));
  }
  /// For a kernel with `sweep`.
  template <class V, class Index>
  [[gnu::flatten]] void lanes(Index i) const {
    if (i.x != 0 || i.y != 0) return;
    const level_link& link = links[i.z];
    prolonged_octant<V>(from, to, frames, row_of(link), link, weight).compute(theta, energy_only);
  }

 private:
  constexpr const ghost_source* row_of(const level_link& link) const {
    return sources + index_type{link.coarse} * direction_count;
  }

  /// One coarse cell, as `child_fields` needs it.
  template <class V>
  class coarse_cells {
   public:
    constexpr coarse_cells(const prolongation& p, const level_link& link, int cell)
        : m_p(p), m_link(link), m_cell(cell), m_at(coarse_cell(link.octant, cell)) {
      for (int k = 0; k < stencil_count; ++k) {
        const cell_source c = cell_source::of(neighbour(k), link.coarse, p.row_of(link));
        m_offset[k] = c.keeps_momentum() ? c.offset() : beyond;
      }
    }
    constexpr void stencil(int f, V (&u)[stencil_count]) const {
      for (int k = 0; k < stencil_count; ++k) u[k] = value(k, f);
    }
    constexpr V coarse(int f) const {
      return m_p.from[m_offset[stencil_centre] + f * compact.field];
    }
    constexpr V centre(int axis) const {
      return cell_centre(m_p.frames[m_link.coarse], axis, m_at[axis]);
    }
    constexpr void put(int child, int f, V value) const {
      const triple p = child_cell(m_cell, child);
      m_p.to[compact_at(m_link.fine, f, p.x, p.y, p.z)] = value;
    }

   private:
    static constexpr index_type beyond = -1;  // a cell whose values are transformed

    constexpr triple neighbour(int k) const {
      return {m_at.x + k % 3 - 1, m_at.y + k / 3 % 3 - 1, m_at.z + k / 9 - 1};
    }
    constexpr V value(int k, int f) const {
      if (m_offset[k] != beyond) return m_p.from[m_offset[k] + f * compact.field];
      double u[field_count] = {};
      gather_cell(m_p.from, m_p.frames, m_p.row_of(m_link), m_link.coarse, neighbour(k), u,
                  m_p.weight, !m_p.energy_only);
      return u[f];
    }

    const prolongation& m_p;
    level_link m_link;
    int m_cell;
    triple m_at;
    index_type m_offset[stencil_count] = {};
  };
};

}  // namespace stars
