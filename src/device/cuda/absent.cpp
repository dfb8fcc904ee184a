// SPDX-License-Identifier: Apache-2.0
#include "../backend.hpp"

#include <starling/core/error.hpp>

/// Replaces the CUDA backend in a build without it.
namespace starling::detail {

int count_cuda_devices() noexcept { return 0; }
void clear_cuda_error() {}
void check_cuda_launch(const char*) {}

std::unique_ptr<backend> make_cuda_backend(const backend_request&) {
  throw backend_unavailable(
      "this program was built without CUDA; configure with -DSTARLING_CUDA=ON, or use the host "
      "backend (--starling-backend host)");
}

}  // namespace starling::detail
