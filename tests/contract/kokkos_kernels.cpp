// SPDX-License-Identifier: Apache-2.0
#include "kernels.hpp"

#include <starling/device/interop/kokkos_kernels.hpp>

template struct starling::kokkos::instantiate<starling::contract::count_visits>;
template struct starling::kokkos::instantiate<starling::contract::count_wide_visits>;
template struct starling::kokkos::instantiate<starling::contract::count_visits_in_lanes>;
template struct starling::kokkos::instantiate<starling::contract::affine_float>;
template struct starling::kokkos::instantiate<starling::contract::affine>;
template struct starling::kokkos::instantiate<starling::contract::add_to>;
template struct starling::kokkos::instantiate<starling::contract::long_work>;
template struct starling::kokkos::instantiate<starling::contract::hold_on_device>;
template struct starling::kokkos::instantiate<starling::contract::sum_per_group>;
template struct starling::kokkos::instantiate<starling::contract::reverse_per_group>;
template struct starling::kokkos::instantiate<starling::contract::polynomial>;
template struct starling::kokkos::instantiate<starling::contract::add_small_table>;
template struct starling::kokkos::instantiate<starling::contract::add_large_table>;
