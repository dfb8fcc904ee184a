// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <source_location>

#include <cuda_runtime_api.h>

namespace starling::detail {

/// Throws a `device_error` for a failed CUDA call. It names the call, CUDA's name and text of the
/// error, and the source location. `call` is copied.
[[noreturn]] void throw_cuda_error(cudaError_t result, const char* call, std::source_location at);

inline void check(cudaError_t result, const char* call,
                  std::source_location at = std::source_location::current()) {
  if (result != cudaSuccess) [[unlikely]]
    throw_cuda_error(result, call, at);
}

/// Returns the same error as an object, for functions that must not throw.
[[nodiscard]] std::exception_ptr make_cuda_error(
    cudaError_t result, const char* call,
    std::source_location at = std::source_location::current()) noexcept;

/// Clears an error that the caller has handled, so that `cudaGetLastError` in user code does not
/// return it. Errors that destroyed the context remain.
inline void forget_cuda_error() noexcept { static_cast<void>(cudaGetLastError()); }

/// Makes `device` current on the calling thread. Costs two thread-local reads if it is already
/// current. @throws device_error
void make_current(int device);

}  // namespace starling::detail
