// SPDX-License-Identifier: Apache-2.0
// The kernels of Jacobi's method for CUDA devices, one line each.
#include <starling/device/interop/cuda_kernels.cuh>

#include "physics/halo.hpp"
#include "physics/initial.hpp"
#include "physics/reduction.hpp"
#include "physics/update.hpp"

template struct starling::cuda::instantiate<jacobi3d::update>;
template struct starling::cuda::instantiate<jacobi3d::update_faces>;
template struct starling::cuda::instantiate<jacobi3d::pack>;
template struct starling::cuda::instantiate<jacobi3d::unpack>;
template struct starling::cuda::instantiate<jacobi3d::pack_faces>;
template struct starling::cuda::instantiate<jacobi3d::unpack_faces>;
template struct starling::cuda::instantiate<jacobi3d::fused_step>;
template struct starling::cuda::instantiate<jacobi3d::fill_initial>;
template struct starling::cuda::instantiate<jacobi3d::difference>;
template struct starling::cuda::instantiate<jacobi3d::checksum>;
template struct starling::cuda::instantiate<jacobi3d::mode_error>;
template struct starling::cuda::instantiate<jacobi3d::reduce_largest>;
template struct starling::cuda::instantiate<jacobi3d::reduce_sum>;
