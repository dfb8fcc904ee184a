// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <starling/device/interop/cuda.hpp>

namespace starling::gpu_test {

/// Sets used[i] for each multiprocessor i on which one of `blocks` large blocks has run.
void note_places(cuda::native_stream s, std::uint32_t* used, int blocks);

}  // namespace starling::gpu_test
