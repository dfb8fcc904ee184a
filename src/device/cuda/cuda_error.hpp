// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <source_location>

#include <cuda_runtime_api.h>

namespace starling::detail {

/// Every call of the CUDA API goes through here: a failure becomes a `device_error` that names the
/// call, CUDA's name and text of the error, and the place. `call` must outlive the exception's
/// making only.
[[noreturn]] void throw_cuda_error(cudaError_t result, const char* call, std::source_location at);

inline void check(cudaError_t result, const char* call,
                  std::source_location at = std::source_location::current()) {
  if (result != cudaSuccess) [[unlikely]]
    throw_cuda_error(result, call, at);
}

/// The same as an object, for where nothing may be thrown.
[[nodiscard]] std::exception_ptr make_cuda_error(
    cudaError_t result, const char* call,
    std::source_location at = std::source_location::current()) noexcept;

/// Forgets an error that the caller has dealt with, so that `cudaGetLastError` in a user's code
/// does not show it. Errors that ended the context stay.
inline void forget_cuda_error() noexcept { static_cast<void>(cudaGetLastError()); }

/// Makes `device` the calling thread's. Two thread-local readings when it is already.
void make_current(int device);

}  // namespace starling::detail
