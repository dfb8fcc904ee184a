// SPDX-License-Identifier: Apache-2.0
#include "cuda_driver.hpp"

#include <dlfcn.h>

#include <atomic>

#include <cuda.h>

#include "cuda_error.hpp"

namespace starling::detail {

namespace {

/// Returns the driver's function that finds driver functions by name and version; null without a
/// driver, or with a driver before CUDA 12.
decltype(&cuGetProcAddress_v2) find_finder() noexcept {
  void* const driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);  // as CUDA's runtime does
  void* const found = driver == nullptr ? nullptr : dlsym(driver, "cuGetProcAddress_v2");
  return reinterpret_cast<decltype(&cuGetProcAddress_v2)>(found);
}

}  // namespace

void* find_driver_symbol(const char* name, unsigned int since) noexcept {
  static const auto find = find_finder();
  void* found = nullptr;
  CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  const auto version = static_cast<int>(since);
  const bool is_found =
      find != nullptr &&
      find(name, &found, version, CU_GET_PROC_ADDRESS_DEFAULT, &status) == CUDA_SUCCESS &&
      status == CU_GET_PROC_ADDRESS_SUCCESS;
  return is_found ? found : nullptr;
}

void store_word(cudaStream_t stream, completion_word* word, std::uint64_t sequence,
                word_store how) {
  using write_value_64 = CUresult(CUDAAPI*)(CUstream, CUdeviceptr, cuuint64_t, unsigned int);
  // Null after the driver has refused. Relaxed: the pointer refers to code only.
  static std::atomic<write_value_64> write_value{
      find_driver_function<write_value_64>("cuStreamWriteValue64", 12000)};
  const write_value_64 write = write_value.load(std::memory_order_relaxed);
  if (how == word_store::driver && write != nullptr) {
    // Pinned memory has one address on host and devices. Flags 0: the driver puts a system-wide
    // fence before the store.
    const CUresult result = write(stream, reinterpret_cast<CUdeviceptr>(word), sequence, 0);
    // Driver and runtime use the same error numbers.
    if (result != CUDA_ERROR_NOT_SUPPORTED)
      return check(static_cast<cudaError_t>(result), "cuStreamWriteValue64");
    write_value.store(nullptr, std::memory_order_relaxed);
  }
  check(launch_store_word(stream, word, sequence), "launch of the completion kernel");
}

}  // namespace starling::detail
