// SPDX-License-Identifier: Apache-2.0
// The kernels of gravity for CUDA devices, one line each.
#include <starling/device/interop/cuda_kernels.cuh>

#include "gravity/grouped_fields.hpp"

template struct starling::cuda::instantiate<stars::sum_moments>;
template struct starling::cuda::instantiate<stars::far_field>;
template struct starling::cuda::instantiate<stars::inherit>;
template struct starling::cuda::instantiate<stars::finish_leaves>;
template struct starling::cuda::instantiate<stars::find_masses>;
template struct starling::cuda::instantiate<stars::near_field>;
template struct starling::cuda::instantiate<stars::beside_finer>;
template struct starling::cuda::instantiate<stars::beside_coarser>;
template struct starling::cuda::instantiate<stars::grouped_far_field>;
template struct starling::cuda::instantiate<stars::grouped_near_field<2>>;
template struct starling::cuda::instantiate<stars::grouped_near_field<3>>;
template struct starling::cuda::instantiate<stars::grouped_near_field<1>>;
