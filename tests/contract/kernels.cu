// SPDX-License-Identifier: Apache-2.0
#include "kernels.hpp"

#include <starling/device/interop/cuda_kernels.cuh>

template struct starling::cuda::instantiate<starling::contract::count_visits>;
template struct starling::cuda::instantiate<starling::contract::count_visits_in_lanes>;
template struct starling::cuda::instantiate<starling::contract::affine_float>;
template struct starling::cuda::instantiate<starling::contract::affine>;
template struct starling::cuda::instantiate<starling::contract::add_to>;
template struct starling::cuda::instantiate<starling::contract::long_work>;
template struct starling::cuda::instantiate<starling::contract::sum_per_group>;
template struct starling::cuda::instantiate<starling::contract::reverse_per_group>;
template struct starling::cuda::instantiate<starling::contract::polynomial>;
template struct starling::cuda::instantiate<starling::contract::add_small_table>;
template struct starling::cuda::instantiate<starling::contract::add_large_table>;
