// SPDX-License-Identifier: Apache-2.0
// The resident program and the kernel of beside_test.cpp, for CUDA devices.
#include <starling/device/interop/cuda_kernels.cuh>
#include <starling/resident/interop/cuda_program.cuh>

#include "beside_chares.hpp"

template struct starling::resident::cuda::instantiate<starling_test::metronome_program>;
template struct starling::cuda::instantiate<starling_test::scale_and_shift>;
