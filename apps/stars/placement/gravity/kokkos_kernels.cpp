// SPDX-License-Identifier: Apache-2.0
// The kernels of gravity for Kokkos, one line each.
#include <starling/device/interop/kokkos_kernels.hpp>

#include "gravity/grouped_fields.hpp"

template struct starling::kokkos::instantiate<stars::sum_moments>;
template struct starling::kokkos::instantiate<stars::far_field>;
template struct starling::kokkos::instantiate<stars::inherit>;
template struct starling::kokkos::instantiate<stars::finish_leaves>;
template struct starling::kokkos::instantiate<stars::find_masses>;
template struct starling::kokkos::instantiate<stars::near_field>;
template struct starling::kokkos::instantiate<stars::beside_finer>;
template struct starling::kokkos::instantiate<stars::beside_coarser>;
template struct starling::kokkos::instantiate<stars::grouped_far_field>;
template struct starling::kokkos::instantiate<stars::grouped_near_field<2>>;
template struct starling::kokkos::instantiate<stars::grouped_near_field<3>>;
template struct starling::kokkos::instantiate<stars::grouped_near_field<1>>;
