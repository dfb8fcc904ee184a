// SPDX-License-Identifier: Apache-2.0
// The kernel that runs on processors only, for Kokkos without a GPU.
#include <starling/device/interop/kokkos_kernels.hpp>

#include "hydro/grouped_flux.hpp"

template struct starling::kokkos::instantiate<stars::grouped_flux>;
