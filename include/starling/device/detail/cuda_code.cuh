// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

#include <cuda_runtime_api.h>

namespace starling::detail {

/// A registered set of CUDA kernels. The file that contains them registers them before main, so
/// that all kernels can be loaded at once. Otherwise, at a kernel's first launch, the driver may
/// wait until all running kernels have ended; CUDA_MODULE_LOADING=EAGER does not prevent that,
/// because the runtime library loads each file's code at its first use.
class cuda_code {
 public:
  /// Loads kernels onto the current device. Cheap if they are loaded already.
  using loader = cudaError_t (*)() noexcept;

  /// Registers `load`. The object must exist until the program ends.
  explicit cuda_code(loader load) noexcept
      : m_load(load), m_next(s_first.load(std::memory_order_relaxed)) {
    // Release: a reader that loads this pointer (acquire) sees the object's members.
    while (!s_first.compare_exchange_weak(m_next, this, std::memory_order_release,
                                          std::memory_order_relaxed)) {
    }
  }
  cuda_code(const cuda_code&) = delete;
  cuda_code& operator=(const cuda_code&) = delete;

  /// Calls `f(loader)` for all registered loaders.
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

/// Registers kernels once. Returns true, for use in a static initialiser.
template <auto... Kernels>
bool enter_cuda_code() noexcept {
  static cuda_code entered(&load_cuda_code<Kernels...>);
  return true;
}

}  // namespace starling::detail
