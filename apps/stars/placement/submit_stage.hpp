// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <starling/device.hpp>

#include "hydro/fused_primitives.hpp"
#include "hydro/grouped_flux.hpp"
#include "hydro/line_flux.hpp"
#include "hydro/slab_reconstruction.hpp"
#include "hydro/stage.hpp"
#include "placement/launch.hpp"
#include "placement/simulation.hpp"
#include "transfer/ghosts.hpp"

namespace stars {

/// Submits ghosts and the kernels of a stage up to the fluxes, in the kernels of a cut.
inline void submit_stage(starling::stream& queue, const ghost_fill& ghosts, const stage_kernels& k,
                         kernel_cut cut, quadrature_kind quadrature) {
  if (cut == kernel_cut::fused) {
    submit(queue, fused_primitives{ghosts, k.pressure, k.prepare});
    if (quadrature == quadrature_kind::centre)
      return submit(queue, line_flux{k.jump, k.points, k.fluxes});
    submit(queue, slab_reconstruction{k.points, k.jump});
  } else {
    submit(queue, ghosts);
    submit(queue, k.pressure);
    if (cut == kernel_cut::plain) submit(queue, k.jump);
    submit(queue, k.prepare);
    if (cut == kernel_cut::grouped) return submit(queue, grouped_flux{k.jump, k.points, k.fluxes});
    submit(queue, k.points);
  }
  submit(queue, k.fluxes);
}

}  // namespace stars
