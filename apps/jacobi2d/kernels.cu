// SPDX-License-Identifier: Apache-2.0
// The kernels of Jacobi's method in two dimensions for CUDA devices, one line each.
#include <starling/device/interop/cuda_kernels.cuh>

#include "physics/initial.hpp"
#include "physics/reduction.hpp"
#include "physics/update.hpp"

template struct starling::cuda::instantiate<jacobi2d::update>;
template struct starling::cuda::instantiate<jacobi2d::fill_initial>;
template struct starling::cuda::instantiate<jacobi2d::difference>;
template struct starling::cuda::instantiate<jacobi2d::checksum>;
template struct starling::cuda::instantiate<jacobi2d::mode_error>;
template struct starling::cuda::instantiate<jacobi2d::reduce_largest>;
template struct starling::cuda::instantiate<jacobi2d::reduce_sum>;
