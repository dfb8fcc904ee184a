// SPDX-License-Identifier: Apache-2.0
#include <starling/device/interop/cuda.hpp>

#include <string>

#include <starling/core/error.hpp>
#include <starling/core/runtime.hpp>

#include "device_impl.hpp"

/// Needs no CUDA: handles pass through the backend interface.
namespace starling::cuda {
namespace {

void require_cuda(const device& where, const char* call) {
  if (where.parts().context.traits.family == backend_kind::cuda) return;
  if (detail::count_cuda_devices() == 0)
    throw backend_unavailable(std::string("cuda::") + call +
                              ": this program has no CUDA device, or was configured without "
                              "-DSTARLING_CUDA=ON");
  throw usage_error(std::string("cuda::") + call + " on a device of the " +
                    to_string(where.backend()) + " backend; run with --starling-backend cuda");
}

device& device_here() {
  runtime* rt = runtime::current();
  if (rt == nullptr)
    throw usage_error("cuda::get_future outside a runtime: name the device as first argument");
  return devices(*rt).here();
}

}  // namespace

native_stream native(stream& s) {
  require_cuda(s.device(), "native");
  return s.native<native_stream>();
}

future<void> get_future(device& where, native_stream work) {
  require_cuda(where, "get_future");
  return stream(where.parts().adopt(work)).get_future();
}

future<void> get_future(device& where, native_event point) {
  require_cuda(where, "get_future");
  // A stream that is idle, so that no unrelated work stands before the event.
  const stream ordered = where.make_stream();
  ordered.state().wait_native(point);
  return ordered.get_future();
}

future<void> get_future(native_stream work) { return get_future(device_here(), work); }
future<void> get_future(native_event point) { return get_future(device_here(), point); }

}  // namespace starling::cuda
