// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include <starling/device/kernel.hpp>

/// The part of the backend that is compiled against Kokkos, by nvcc where that has CUDA; nvcc does
/// not read the other headers of the backends.
namespace starling::detail {

struct kokkos_facts {
  int version;        // major · 10000 + minor · 100 + patch
  const char* space;  // name of the execution space that runs kernels
  int cuda_device;    // CUDA's number, or −1: kernels run on the host
};

/// Whether kernels run on CUDA: known before Kokkos is initialised, which ends the program where
/// there is no GPU.
[[nodiscard]] bool kokkos_needs_cuda() noexcept;

/// Initialises Kokkos unless it is already, and then has it finalised when the program exits. Any
/// thread. @throws backend_unavailable when Kokkos has been finalised
[[nodiscard]] kokkos_facts open_kokkos();

/// An instance whose work goes to a native stream (cudaStream_t), which must outlive it.
[[nodiscard]] std::shared_ptr<const void> make_kokkos_instance(void* native_stream);

/// Runs a call on such an instance and calls `check` after each launch. @throws device_error when
/// Kokkos refuses it, usage_error when a graph that is being captured cannot hold it; what `check`
/// throws
void launch_on_instance(const kernel_call& call, const void* instance, bool captured,
                        void (*check)(const char* kernel));

/// A `host_launcher`: runs units on the calling thread, on an instance that nobody else uses.
void run_on_host_instance(const kernel_call& call, std::int64_t first, std::int64_t last);

}  // namespace starling::detail
