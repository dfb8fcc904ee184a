// SPDX-License-Identifier: Apache-2.0
#include "part_kernels.hpp"

#include <stdexcept>

#include <cuda_runtime.h>

namespace starling::gpu_test {
namespace {

/// Runs long enough that the next block cannot use the same multiprocessor.
__global__ void note_place(std::uint32_t* used) {
  std::uint32_t here = 0;
  asm volatile("mov.u32 %0, %smid;" : "=r"(here));
  used[here] = 1;
  for (int i = 0; i < 100; ++i) __nanosleep(1000);
}

}  // namespace

void note_places(cuda::native_stream s, std::uint32_t* used, int blocks) {
  note_place<<<blocks, 1024, 0, s>>>(used);
  if (const cudaError_t result = cudaGetLastError(); result != cudaSuccess)
    throw std::runtime_error(cudaGetErrorString(result));
}

}  // namespace starling::gpu_test
