// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <starling/device/types.hpp>

// The types behind cudaStream_t and cudaEvent_t, declared without a CUDA header. The headers of
// streams and futures are not included either, because nvcc cannot compile them: a .cu file takes a
// `stream&` and launches on it with this header only. Code that awaits includes
// <starling/device.hpp>.
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

/// Interop for hand-written kernels and for libraries that use CUDA. Every call here throws
/// `backend_unavailable` in a program without CUDA or without a CUDA device, and `usage_error` on
/// devices of a backend that does not use CUDA.
namespace starling::cuda {

using native_stream = ::CUstream_st*;
using native_event = ::CUevent_st*;

/// Returns the CUDA stream of `s`, for `kernel<<<…, native(s)>>>` or a library. Work queued on it
/// runs in the order of `s`; completion of `s` covers all work queued before the await. Do not
/// capture it with CUDA's own calls: see `stream::native`.
[[nodiscard]] native_stream native(stream& s);

/// Returns a future of all work queued on `work`, a stream created elsewhere. `target` is its
/// device. The stream must exist until the future is ready. Null means cudaStreamLegacy, which is
/// ordered after the work of all blocking streams. @throws device_error; usage_error for
/// cudaStreamPerThread, which denotes a different stream on each thread, while tasks may change
/// threads: record an event on it, or create a stream
[[nodiscard]] future<void> get_future(device& target, native_stream work);
/// Returns a future that is ready when `point` has been passed. The event must have been recorded,
/// and must exist until then.
[[nodiscard]] future<void> get_future(device& target, native_event point);

/// As above for the device of the calling worker. @throws usage_error outside a runtime
[[nodiscard]] future<void> get_future(native_stream work);
[[nodiscard]] future<void> get_future(native_event point);

}  // namespace starling::cuda
