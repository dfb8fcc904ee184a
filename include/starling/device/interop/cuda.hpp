// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <starling/device/types.hpp>

// The CUDA runtime's own names for cudaStream_t and cudaEvent_t: no CUDA header needed here. Nor
// are streams and futures: a .cu file, which nvcc could not read them in, takes a `stream&` and
// launches on it with this header alone; who awaits includes <starling/device.hpp>.
struct CUstream_st;
struct CUevent_st;

namespace starling {
class device;
class stream;
template <class T>
class future;
}  // namespace starling

template <>
struct starling::detail::native_handle_of<::CUstream_st*> {
  static constexpr backend_kind backend = backend_kind::cuda;
};

/// Hand-written kernels and library calls next to the runtime's. Every call here throws
/// `backend_unavailable` in a program built without CUDA, `usage_error` on another backend.
namespace starling::cuda {

using native_stream = ::CUstream_st*;
using native_event = ::CUevent_st*;

/// The stream to give to `kernel<<<…, native(s)>>>` or a library. Work queued there runs in the
/// order of `s`; completion of `s` covers what was queued before the await. Not to be captured by
/// hand: see `stream::native`.
[[nodiscard]] native_stream native(stream& s);

/// Ready when everything queued on `work`, a stream made elsewhere, is over. `where` is its
/// device. The stream must live until then. Null is cudaStreamLegacy, which comes after the work of
/// all threads' default streams. @throws device_error; usage_error for cudaStreamPerThread, which
/// is another stream on each thread while tasks change threads: record an event on it, or make a
/// stream
[[nodiscard]] future<void> get_future(device& where, native_stream work);
/// Ready when `point` has been passed. The event must have been recorded, and live until then.
[[nodiscard]] future<void> get_future(device& where, native_event point);

/// As above for the device of the calling worker. @throws usage_error outside a runtime
[[nodiscard]] future<void> get_future(native_stream work);
[[nodiscard]] future<void> get_future(native_event point);

}  // namespace starling::cuda
