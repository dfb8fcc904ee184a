// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include <starling/device/kernel.hpp>

/// The source that is compiled against Kokkos, by nvcc if Kokkos uses CUDA. nvcc does not compile
/// the other headers of the backends.
namespace starling::detail {

struct kokkos_facts {
  int version;        // major · 10000 + minor · 100 + patch
  const char* space;  // name of the execution space that runs kernels
  int cuda_device;    // CUDA's device number; −1: kernels run on the host
};

/// Returns whether kernels run on CUDA. Known before Kokkos is initialised; its initialisation
/// without a GPU would end the program.
[[nodiscard]] bool kokkos_needs_cuda() noexcept;

/// Initialises Kokkos unless it is initialised already. If this call initialised it, Kokkos is
/// finalised when the program exits. Thread-safe. @throws backend_unavailable when Kokkos has been
/// finalised
[[nodiscard]] kokkos_facts open_kokkos();

/// Makes an instance that submits to a native stream (cudaStream_t), which must outlive it. Returns
/// null for a host space.
[[nodiscard]] std::shared_ptr<const void> make_kokkos_instance(void* native_stream);

/// Launches a call on such an instance and calls `check` after each launch. @throws device_error
/// when Kokkos refuses it; usage_error when a captured graph cannot hold it; exceptions of `check`
void launch_on_instance(const kernel_call& call, const void* instance, bool captured,
                        void (*check)(const char* kernel));

/// A `host_launcher`: runs units on the calling thread, on an instance in exclusive use.
void run_on_host_instance(const kernel_call& call, std::int64_t first, std::int64_t last);

}  // namespace starling::detail
