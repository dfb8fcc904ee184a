// SPDX-License-Identifier: Apache-2.0
/// \file
/// Makes the kernels of a stage from a scheme and a set of arrays.
#pragma once

#include "hydro/discontinuity.hpp"
#include "hydro/flux.hpp"
#include "hydro/pre_reconstruction.hpp"
#include "hydro/reconstruction.hpp"
#include "hydro/scheme.hpp"

namespace stars {

/// The arrays of `count` consecutive sub-grids. Their sizes in doubles for each sub-grid are the
/// constants of layout.hpp.
struct stage_arrays {
  const double* u;   ///< ghosted.block: conserved state, ghosts filled
  double* w;         ///< ghosted.block: may be the same memory as u
  double* pressure;  ///< pressure_block
  double* jump;      ///< jump_block; not used by grouped_flux and fused kernels
  double* points;    ///< point_block; not used by grouped_flux and line_flux
  double* fluxes;    ///< flux_block
  double* speeds;    ///< speed_block
};

/// The five kernels in their order; each reads the results of the kernels before it.
struct stage_kernels {
  discontinuity_1 pressure;
  discontinuity_2 jump;
  pre_reconstruction prepare;
  reconstruction points;
  flux fluxes;
};

/// `frames` are those of the `count` sub-grids, in memory that the kernels can read; `width` is the
/// number of lanes of the vectors that run the kernels (at most 8), or 1 for one index at a time.
constexpr stage_kernels make_stage(const stage_arrays& a, const subgrid_frame* frames, int count,
                                   const scheme& s, int width) {
  const double gamma = s.effective_gamma();
  const int pitch = padded(ring_edge, width);
  const bool one_point = s.quadrature == quadrature_kind::centre;
  const bool centre_only = one_point || s.error.edge_terms_dropped;
  return {
      {a.u, a.pressure, count, gamma},
      {a.pressure, a.jump, count, pitch, gamma, one_point},
      {a.u, a.w, frames, count, s.omega},
      {a.w, a.jump, a.points, frames, count, sweep_of(width), s.reconstruction, one_point, gamma,
       s.omega},
      {a.points,
       a.fluxes,
       a.speeds,
       frames,
       count,
       centre_only ? 1 : face_point::count,
       {one_point ? 1.0 : 16.0 / 36.0, 4.0 / 36.0, 1.0 / 36.0},
       s.omega,
       sweep_of(width)},
  };
}

}  // namespace stars
