// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

#include <cuda_runtime_api.h>

namespace starling::detail {

/// Kernels compiled for CUDA, entered before main by the file that holds them, so that all can be
/// loaded at once: at a kernel's first launch the driver may wait until those that run have ended,
/// also with CUDA_MODULE_LOADING=EAGER, as the runtime library takes each file's code when it first
/// needs it.
class cuda_code {
 public:
  /// Loads onto the current device. Does little where that was done.
  using loader = cudaError_t (*)() noexcept;

  /// Lives as long as the program.
  explicit cuda_code(loader load) noexcept
      : m_load(load), m_next(s_first.load(std::memory_order_relaxed)) {
    // Release: who finds this sees what it leads to.
    while (!s_first.compare_exchange_weak(m_next, this, std::memory_order_release,
                                          std::memory_order_relaxed)) {
    }
  }
  cuda_code(const cuda_code&) = delete;
  cuda_code& operator=(const cuda_code&) = delete;

  /// Calls `f(loader)` for all that have been entered.
  template <class F>
  static void for_each(F f) {
    for (const cuda_code* c = s_first.load(std::memory_order_acquire); c != nullptr; c = c->m_next)
      f(c->m_load);
  }

 private:
  static inline std::atomic<cuda_code*> s_first = nullptr;
  loader m_load;
  cuda_code* m_next;
};

template <auto... Kernels>
cudaError_t load_cuda_code() noexcept {
  cudaFuncAttributes unused{};
  cudaError_t result = cudaSuccess;
  const auto load = [&](auto* kernel) {
    if (result == cudaSuccess) result = cudaFuncGetAttributes(&unused, kernel);
  };
  (load(Kernels), ...);
  return result;
}

/// Enters kernels, once; true, so that a static initialiser can say so.
template <auto... Kernels>
bool enter_cuda_code() noexcept {
  static cuda_code entered(&load_cuda_code<Kernels...>);
  return true;
}

}  // namespace starling::detail
