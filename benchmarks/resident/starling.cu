// SPDX-License-Identifier: Apache-2.0
// The program for CUDA devices.
#include <starling/resident/interop/cuda_program.cuh>

#include "funnel.hpp"
#include "players.hpp"

template struct starling::resident::cuda::instantiate<resident_bench::program>;
template struct starling::resident::cuda::instantiate<resident_bench::funnel_program>;
