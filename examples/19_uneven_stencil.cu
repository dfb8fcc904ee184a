// SPDX-License-Identifier: Apache-2.0
#include <starling/device/interop/cuda_kernels.cuh>

#include "19_uneven_stencil.hpp"

template struct starling::cuda::instantiate<update>;
