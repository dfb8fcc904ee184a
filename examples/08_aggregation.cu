// SPDX-License-Identifier: Apache-2.0
#include "08_aggregation.hpp"

#include <starling/device/interop/cuda_kernels.cuh>

template struct starling::cuda::instantiate<square_minus>;
