// SPDX-License-Identifier: Apache-2.0
/// \file
/// Ghosts, kernel 1 and kernel 3 of a stage in one kernel, for processors with small caches.
#pragma once

#include "hydro/discontinuity.hpp"
#include "hydro/pre_reconstruction.hpp"
#include "transfer/ghosts.hpp"

namespace stars {

/// Does the work of ghost_fill, discontinuity_1 and pre_reconstruction, with the same bits: each
/// cell is read once and its conserved variables are not stored. Range (2744, 1, count).
struct fused_primitives {
  ghost_fill ghosts;           ///< its `to` is not used
  discontinuity_1 pressure;    ///< its `u` is not used
  pre_reconstruction prepare;  ///< its `u` is not used

  constexpr extent range() const { return prepare.range(); }
  template <class Index>
  constexpr void operator()(Index i) const {
    double u[field_count];
    ghosts.gather(i.x, i.z, u);
    const auto get = [&](int f) { return u[f]; };
    pressure.pressure[index_type{i.z} * pressure_block + i.x] =
        discontinuity_1::pressure_of<double>(get, pressure.gamma);
    double* out = prepare.w + index_type{i.z} * ghosted.block + i.x;
    prepare.convert<double>(
        get, [&](int f, double v) { out[f * ghosted.field] = v; }, i.x, i.z);
  }
};

}  // namespace stars
