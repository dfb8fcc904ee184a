// SPDX-License-Identifier: Apache-2.0
// The programs of these tests for CUDA devices.
#include <starling/resident/interop/cuda_program.cuh>

#include "programs.hpp"

namespace {

template <class Program>
using code = starling::resident::cuda::instantiate<Program>;

[[maybe_unused]] const bool entered = starling_test::enter_programs<code>();

}  // namespace
