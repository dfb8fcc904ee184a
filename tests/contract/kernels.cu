// SPDX-License-Identifier: Apache-2.0
#include "kernels.hpp"

#include <starling/device/interop/cuda_kernels.cuh>

namespace starling::contract {

__global__ void sum_code(const __grid_constant__ cuda::arguments<sum_by_hand> all) {
  extern __shared__ std::int64_t parts[];
  const sum_by_hand& mine = *all;
  const int* const in = mine.in + std::int64_t(all.block().x) * mine.length;
  std::int64_t sum = 0;
  for (int k = static_cast<int>(threadIdx.x); k < mine.length; k += static_cast<int>(blockDim.x))
    sum += in[k];
  parts[threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (unsigned t = 1; t < blockDim.x; ++t) sum += parts[t];
  mine.out[all.block().x] = sum;
}

}  // namespace starling::contract

template struct starling::cuda::instantiate_raw<starling::contract::sum_by_hand,
                                                &starling::contract::sum_code>;
template struct starling::cuda::instantiate<starling::contract::count_visits>;
template struct starling::cuda::instantiate<starling::contract::count_wide_visits>;
template struct starling::cuda::instantiate<starling::contract::count_visits_in_lanes>;
template struct starling::cuda::instantiate<starling::contract::affine_float>;
template struct starling::cuda::instantiate<starling::contract::affine>;
template struct starling::cuda::instantiate<starling::contract::add_to>;
template struct starling::cuda::instantiate<starling::contract::long_work>;
template struct starling::cuda::instantiate<starling::contract::hold_on_device>;
template struct starling::cuda::instantiate<starling::contract::sum_per_group>;
template struct starling::cuda::instantiate<starling::contract::reverse_per_group>;
template struct starling::cuda::instantiate<starling::contract::polynomial>;
template struct starling::cuda::instantiate<starling::contract::add_small_table>;
template struct starling::cuda::instantiate<starling::contract::add_large_table>;
