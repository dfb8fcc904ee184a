// SPDX-License-Identifier: Apache-2.0
// The programs of these tests for groups of several blocks, except those of pressure_test.cpp.
#include <starling/resident/interop/cuda_program.cuh>

#include "programs.hpp"

namespace {

using starling::resident::cuda::cluster_group;
using starling::resident::cuda::device_group;

template <class Program>
using code = starling::resident::cuda::instantiate<Program, cluster_group, device_group>;

[[maybe_unused]] const bool entered = starling_test::enter_wide_programs<code>();

}  // namespace
