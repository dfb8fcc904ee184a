// SPDX-License-Identifier: Apache-2.0
#include <starling/device/interop/cuda.hpp>

#include <string>

#include <starling/core/error.hpp>
#include <starling/core/runtime.hpp>

#include "device_impl.hpp"

/// Needs no CUDA headers: native handles pass through the backend interface.
namespace starling::cuda {
namespace {

void require_cuda(const device& target, const char* call) {
  if (target.internals().context.traits.family == backend_kind::cuda) return;
  if (detail::count_cuda_devices() == 0)
    throw backend_unavailable(std::string("cuda::") + call +
                              ": this program has no CUDA device, or was configured without "
                              "-DSTARLING_CUDA=ON");
  throw usage_error(std::string("cuda::") + call + " on a device of the " +
                    to_string(target.backend()) + " backend; run with --starling-backend cuda");
}

// Values defined by cuda_runtime_api.h.
const auto legacy_stream = reinterpret_cast<native_stream>(0x1);      // cudaStreamLegacy
const auto per_thread_stream = reinterpret_cast<native_stream>(0x2);  // cudaStreamPerThread

/// Returns a handle that denotes the same stream on all threads. @throws usage_error for
/// cudaStreamPerThread
native_stream shared_handle(native_stream work) {
  if (work == per_thread_stream)
    throw usage_error(
        "cuda::get_future(cudaStreamPerThread): that handle is another stream on each thread, and "
        "tasks change threads; record an event on it and wait for that, or use a stream of "
        "cudaStreamCreate or of the runtime (device::make_stream)");
  return work == nullptr ? legacy_stream : work;
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

future<void> get_future(device& target, native_stream work) {
  const native_stream shared = shared_handle(work);
  require_cuda(target, "get_future");
  return stream(target.internals().adopt(shared)).get_future();
}

future<void> get_future(device& target, native_event point) {
  require_cuda(target, "get_future");
  // Uses an idle stream of the pool, so that the future does not wait for unrelated work.
  const stream ordered = target.make_stream();
  ordered.state().wait_native(point);
  return ordered.get_future();
}

future<void> get_future(native_stream work) {
  const native_stream shared = shared_handle(work);
  return get_future(device_here(), shared);
}
future<void> get_future(native_event point) { return get_future(device_here(), point); }

}  // namespace starling::cuda
