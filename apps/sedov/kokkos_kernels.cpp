// SPDX-License-Identifier: Apache-2.0
// The kernels of the blast wave for Kokkos, one line each.
#include <starling/device/interop/kokkos_kernels.hpp>

#include "physics/fused_primitives.hpp"
#include "physics/ghosts.hpp"
#include "physics/halo.hpp"
#include "physics/line_flux.hpp"
#include "physics/slab_reconstruction.hpp"
#include "physics/stage.hpp"
#include "physics/time_step.hpp"
#include "physics/update.hpp"

template struct starling::kokkos::instantiate<sedov::discontinuity_1>;
template struct starling::kokkos::instantiate<sedov::discontinuity_2>;
template struct starling::kokkos::instantiate<sedov::pre_reconstruction>;
template struct starling::kokkos::instantiate<sedov::reconstruction>;
template struct starling::kokkos::instantiate<sedov::slab_reconstruction>;
template struct starling::kokkos::instantiate<sedov::line_flux>;
template struct starling::kokkos::instantiate<sedov::flux>;
template struct starling::kokkos::instantiate<sedov::ghost_fill>;
template struct starling::kokkos::instantiate<sedov::pack_halo>;
template struct starling::kokkos::instantiate<sedov::unpack_halo>;
template struct starling::kokkos::instantiate<sedov::fused_primitives>;
template struct starling::kokkos::instantiate<sedov::divergence>;
template struct starling::kokkos::instantiate<sedov::outflow_rate>;
template struct starling::kokkos::instantiate<sedov::outflow_update>;
template struct starling::kokkos::instantiate<sedov::unless_fault<sedov::update>>;
template struct starling::kokkos::instantiate<sedov::unless_fault<sedov::apply_floors>>;
template struct starling::kokkos::instantiate<sedov::unless_fault<sedov::find_fault>>;
template struct starling::kokkos::instantiate<sedov::reduce_max>;
template struct starling::kokkos::instantiate<sedov::group_max>;
template struct starling::kokkos::instantiate<sedov::time_step>;
template struct starling::kokkos::instantiate<sedov::unless_fault<sedov::synchronize_tau>>;
template struct starling::kokkos::instantiate<sedov::unless_fault<sedov::end_step>>;
