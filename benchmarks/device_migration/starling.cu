// SPDX-License-Identifier: Apache-2.0
#include <starling/device/interop/cuda_kernels.cuh>

#include "../common/advance.hpp"

template struct starling::cuda::instantiate<starling::bench::advance>;
