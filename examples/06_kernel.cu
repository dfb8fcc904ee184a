// SPDX-License-Identifier: Apache-2.0
#include <starling/device/interop/cuda_kernels.cuh>

#include "06_kernel.hpp"

template struct starling::cuda::instantiate<axpy>;
