// SPDX-License-Identifier: Apache-2.0
// The kernels of the blast wave for Kokkos, one line each.
#include <starling/device/interop/kokkos_kernels.hpp>

#include "hydro/fused_primitives.hpp"
#include "hydro/line_flux.hpp"
#include "hydro/slab_reconstruction.hpp"
#include "hydro/stage.hpp"
#include "hydro/time_step.hpp"
#include "hydro/update.hpp"
#include "problems/test_leaves.hpp"
#include "transfer/flux_correction.hpp"
#include "transfer/ghosts.hpp"
#include "transfer/halo.hpp"
#include "transfer/moves.hpp"
#include "transfer/prolongation.hpp"
#include "transfer/restriction.hpp"

template struct starling::kokkos::instantiate<stars::discontinuity_1>;
template struct starling::kokkos::instantiate<stars::discontinuity_2>;
template struct starling::kokkos::instantiate<stars::pre_reconstruction>;
template struct starling::kokkos::instantiate<stars::reconstruction>;
template struct starling::kokkos::instantiate<stars::slab_reconstruction>;
template struct starling::kokkos::instantiate<stars::line_flux>;
template struct starling::kokkos::instantiate<stars::flux>;
template struct starling::kokkos::instantiate<stars::ghost_fill>;
template struct starling::kokkos::instantiate<stars::pack_halo>;
template struct starling::kokkos::instantiate<stars::unpack_halo>;
template struct starling::kokkos::instantiate<stars::restriction>;
template struct starling::kokkos::instantiate<stars::prolongation>;
template struct starling::kokkos::instantiate<stars::correct_fluxes>;
template struct starling::kokkos::instantiate<stars::mean_fluxes>;
template struct starling::kokkos::instantiate<stars::move_leaves>;
template struct starling::kokkos::instantiate<stars::test_leaves>;
template struct starling::kokkos::instantiate<stars::summarize_tests>;
template struct starling::kokkos::instantiate<stars::scale_speeds>;
template struct starling::kokkos::instantiate<stars::fused_primitives>;
template struct starling::kokkos::instantiate<stars::divergence>;
template struct starling::kokkos::instantiate<stars::outflow_rate>;
template struct starling::kokkos::instantiate<stars::outflow_update>;
template struct starling::kokkos::instantiate<stars::unless_fault<stars::update>>;
template struct starling::kokkos::instantiate<stars::unless_fault<stars::apply_floors>>;
template struct starling::kokkos::instantiate<stars::unless_fault<stars::find_fault>>;
template struct starling::kokkos::instantiate<stars::reduce_max>;
template struct starling::kokkos::instantiate<stars::group_max>;
template struct starling::kokkos::instantiate<stars::time_step>;
template struct starling::kokkos::instantiate<stars::unless_fault<stars::synchronize_tau>>;
template struct starling::kokkos::instantiate<stars::unless_fault<stars::end_step>>;
