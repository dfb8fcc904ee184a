// SPDX-License-Identifier: Apache-2.0
#include "cuda_error.hpp"

#include <string>
#include <string_view>

#include <starling/core/error.hpp>

#include "../backend.hpp"

namespace starling::detail {

namespace {

/// Returns the path from `src/` on, which does not depend on the folder of the build.
std::string_view short_path(std::string_view file) noexcept {
  const std::size_t at = file.rfind("/src/");
  return at == std::string_view::npos ? file : file.substr(at + 1);
}

/// Returns whether an error destroys the context: every later call of the process on the device
/// then fails with the same error.
bool is_final(cudaError_t result) noexcept {
  constexpr int contained = 226;  // cudaErrorContained, which older toolkits do not declare
  if (static_cast<int>(result) == contained) return true;
  switch (result) {
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchFailure:
    case cudaErrorLaunchTimeout:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidPc:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorIllegalInstruction:
    case cudaErrorHardwareStackError:
    case cudaErrorAssert:
    case cudaErrorECCUncorrectable:
    case cudaErrorNvlinkUncorrectable:
    case cudaErrorUnknown:
      return true;
    default:
      return false;
  }
}

device_error describe(cudaError_t result, const char* call, const std::source_location& at) {
  std::string text = call;
  text += " failed: ";
  text += cudaGetErrorName(result);
  text += " (";
  text += cudaGetErrorString(result);
  text += ") at ";
  text += short_path(at.file_name());
  text += ':' + std::to_string(at.line());
  if (is_final(result))
    text +=
        "; work submitted earlier may be the cause, and this process cannot use the device again";
  return device_error(text, static_cast<int>(result));
}

}  // namespace

void throw_cuda_error(cudaError_t result, const char* call, std::source_location at) {
  forget_cuda_error();
  throw describe(result, call, at);
}

std::exception_ptr make_cuda_error(cudaError_t result, const char* call,
                                   std::source_location at) noexcept {
  forget_cuda_error();
  try {
    return std::make_exception_ptr(describe(result, call, at));
  } catch (...) {
    return std::current_exception();
  }
}

void clear_cuda_error() {
  const cudaError_t left = cudaGetLastError();
  if (is_final(left)) [[unlikely]]
    check(left, "an earlier call of CUDA");
}

void check_cuda_launch(const char* kernel) {
  const cudaError_t result = cudaGetLastError();
  if (result != cudaSuccess) [[unlikely]]
    check(result, (std::string("launch of kernel ") + kernel).c_str());
}

void make_current(int device) {
  // On a thread that has never set a device, cudaGetDevice returns 0, but no context exists yet,
  // and driver functions would fail. So the first call sets the device in any case.
  static thread_local bool has_context = false;
  int now = -1;
  if (has_context && cudaGetDevice(&now) == cudaSuccess && now == device) [[likely]]
    return;
  check(cudaSetDevice(device), "cudaSetDevice");
  has_context = true;
}

}  // namespace starling::detail
