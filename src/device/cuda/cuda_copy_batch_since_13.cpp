// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "cuda_copy.hpp"

namespace starling::detail {

cudaError_t start_copy_batch(cudaStream_t stream, std::span<const transfer> list) noexcept {
  std::array<void*, most_of_copy_batch> to;
  std::array<const void*, most_of_copy_batch> from;
  std::array<std::size_t, most_of_copy_batch> bytes;
  for (std::size_t i = 0; i < list.size(); ++i) {
    to[i] = list[i].dst;
    from[i] = list[i].src;
    bytes[i] = list[i].bytes;
  }
  cudaMemcpyAttributes all{};
  all.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
  std::size_t first = 0;
  return cudaMemcpyBatchAsync(to.data(), from.data(), bytes.data(), list.size(), &all, &first, 1,
                              stream);
}

}  // namespace starling::detail
