// SPDX-License-Identifier: Apache-2.0
// The program for CUDA devices.
#include <starling/resident/interop/cuda_program.cuh>

#include "storm.hpp"

template struct starling::resident::cuda::instantiate<resident_storm::program>;
