// SPDX-License-Identifier: Apache-2.0
#include "hydro/line_flux.hpp"
#include "hydro/slab_reconstruction.hpp"
#include "placement/launch.hpp"
#include "placement/simulation.hpp"

namespace stars {

kernel_cut cut_for(kernel_cut wanted, const scheme& numerics, const starling::device& where) {
  if (wanted != kernel_cut::automatic) return wanted;
  if (on_processor(where)) return kernel_cut::grouped;
  const int scratch = numerics.quadrature == quadrature_kind::centre
                          ? line_flux::scratch_bytes
                          : slab_reconstruction::scratch_bytes;
  const bool room = where.properties().group_scratch_bytes >= std::size_t(scratch);
  return where.backend() == starling::backend_kind::cuda && room ? kernel_cut::fused
                                                                 : kernel_cut::plain;
}

}  // namespace stars
