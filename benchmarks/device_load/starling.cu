// SPDX-License-Identifier: Apache-2.0
#include <starling/device/interop/cuda_kernels.cuh>

#include "kernel.hpp"

template struct starling::cuda::instantiate<device_load::advance>;
