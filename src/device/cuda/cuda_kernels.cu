// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <cuda_runtime.h>

#include <starling/device/detail/cuda_code.cuh>

// cuda_driver.hpp is not included: nvcc would parse its coroutine headers twice for two functions.
namespace starling::detail {

namespace {

constexpr int threads = 256;
constexpr std::size_t most_blocks = 4096;

struct pattern {
  unsigned long long low, high;
};

__global__ void store_word_kernel(unsigned long long* word, unsigned long long sequence) {
  asm volatile("st.release.sys.global.u64 [%0], %1;" ::"l"(word), "l"(sequence) : "memory");
}

/// Fills memory with repetitions of the first `mask` + 1 bytes of the pattern: unit i gets the
/// bytes from i·sizeof(Unit) on.
template <class Unit>
__global__ void fill_kernel(Unit* memory, pattern value, unsigned mask, std::size_t units) {
  const std::size_t step = std::size_t(gridDim.x) * threads;
  for (std::size_t i = std::size_t(blockIdx.x) * threads + threadIdx.x; i < units; i += step) {
    const unsigned byte = static_cast<unsigned>(i * sizeof(Unit)) & mask;
    memory[i] = static_cast<Unit>((byte < 8 ? value.low : value.high) >> (8 * (byte & 7)));
  }
}

template <class Unit>
cudaError_t fill_units(cudaStream_t stream, void* memory, const pattern& value, std::size_t element,
                       std::size_t count) {
  const std::size_t units = count * (element / sizeof(Unit));
  const auto blocks = static_cast<unsigned>(std::min(most_blocks, (units + threads - 1) / threads));
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(blocks);
  config.blockDim = dim3(threads);
  config.stream = stream;
  return cudaLaunchKernelEx(&config, fill_kernel<Unit>, static_cast<Unit*>(memory), value,
                            static_cast<unsigned>(element - 1), units);
}

const bool are_entered =
    enter_cuda_code<store_word_kernel, fill_kernel<unsigned char>, fill_kernel<unsigned short>,
                    fill_kernel<unsigned int>, fill_kernel<unsigned long long>>();

}  // namespace

cudaError_t launch_store_word(cudaStream_t stream, void* word, std::uint64_t sequence) noexcept {
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(1);
  config.blockDim = dim3(1);
  config.stream = stream;
  return cudaLaunchKernelEx(&config, store_word_kernel, static_cast<unsigned long long*>(word),
                            static_cast<unsigned long long>(sequence));
}

cudaError_t launch_fill(cudaStream_t stream, void* memory, const void* value, std::size_t element,
                        std::size_t count) noexcept {
  pattern p{};
  std::memcpy(&p, value, element);
  // An element may be aligned to less than its size: {float, float} to 4 bytes.
  const std::size_t unit = std::min<std::size_t>(
      {element, 8,
       reinterpret_cast<std::uintptr_t>(memory) & (~reinterpret_cast<std::uintptr_t>(memory) + 1)});
  switch (unit) {
    case 1:
      return fill_units<unsigned char>(stream, memory, p, element, count);
    case 2:
      return fill_units<unsigned short>(stream, memory, p, element, count);
    case 4:
      return fill_units<unsigned int>(stream, memory, p, element, count);
    default:
      return fill_units<unsigned long long>(stream, memory, p, element, count);
  }
}

}  // namespace starling::detail
