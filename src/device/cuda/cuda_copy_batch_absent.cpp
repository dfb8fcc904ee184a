// SPDX-License-Identifier: Apache-2.0
#include "cuda_copy.hpp"

/// Replaces batches of copies in a build with a CUDA toolkit before 13.
namespace starling::detail {

cudaError_t start_copy_batch(cudaStream_t, std::span<const transfer>) noexcept {
  return cudaErrorNotSupported;
}

}  // namespace starling::detail
