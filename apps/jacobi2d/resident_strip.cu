// SPDX-License-Identifier: Apache-2.0
// Resident strips for CUDA devices.
#include <starling/resident/interop/cuda_program.cuh>

#include "resident_strip.hpp"

template struct starling::resident::cuda::instantiate<jacobi2d::strip_program>;
