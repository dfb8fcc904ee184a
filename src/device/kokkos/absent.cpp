// SPDX-License-Identifier: Apache-2.0
#include "../backend.hpp"

#include <starling/core/error.hpp>

/// Replaces the Kokkos backend in a build without it.
namespace starling::detail {

std::unique_ptr<backend> make_kokkos_backend(const backend_request&) {
  throw backend_unavailable(
      "this program was built without Kokkos; configure with -DSTARLING_KOKKOS=ON, or use the host "
      "backend (--starling-backend host)");
}

}  // namespace starling::detail
