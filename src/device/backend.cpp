// SPDX-License-Identifier: Apache-2.0
#include "backend.hpp"

#include <starling/core/error.hpp>

/// Default implementations of backend_device, for backends that do not support a function.
namespace starling::detail {

std::unique_ptr<backend_stream> backend_device::adopt_stream(void*, const stream_request&) {
  throw usage_error("streams of this backend are made by it, not adopted");
}

backend_partitions backend_device::divide(int) {
  throw usage_error("device " + properties().name +
                    " cannot be divided: only the compute units of CUDA devices can be set apart "
                    "for some streams");
}

void* backend_device::map_memory(const memory_name&) {
  throw device_error("this backend maps no memory of other processes");
}

void backend_device::pin(std::span<std::byte>) {
  throw device_error("this backend reaches no memory of the host that it has not allocated");
}

}  // namespace starling::detail
