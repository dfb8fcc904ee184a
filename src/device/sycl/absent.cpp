// SPDX-License-Identifier: Apache-2.0
#include "../backend.hpp"

#include <string>

#include <starling/core/error.hpp>
#include <starling/device/interop/sycl_kernels.hpp>

/// Replaces the SYCL backend in a build without it. Kernels may be instantiated nevertheless.
namespace starling::sycl::detail {

void enter(kernel_source&) noexcept {}

int start(const kernel_source& source, const starling::detail::kernel_call&, void*) {
  throw backend_unavailable(std::string("kernel ") + source.entry->name() +
                            " on a SYCL stream in a program built without SYCL");
}

}  // namespace starling::sycl::detail

namespace starling::detail {

std::unique_ptr<backend> make_sycl_backend(const backend_request&) {
  throw backend_unavailable(
      "this program was built without SYCL; configure with -DSTARLING_SYCL=ON, or use the host "
      "backend (--starling-backend host)");
}

}  // namespace starling::detail
