// SPDX-License-Identifier: Apache-2.0
#include "../backend.hpp"

#include <starling/core/error.hpp>

/// Stands in for the SYCL backend in a build without it.
namespace starling::detail {

std::unique_ptr<backend> make_sycl_backend(const backend_request&) {
  throw backend_unavailable(
      "this program was built without SYCL; configure with -DSTARLING_SYCL=ON, or use the host "
      "backend (--starling-backend host)");
}

}  // namespace starling::detail
