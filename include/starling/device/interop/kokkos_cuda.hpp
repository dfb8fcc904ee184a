// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <starling/core/error.hpp>
#include <starling/device/interop/cuda.hpp>
#include <starling/device/interop/kokkos.hpp>

/// `Kokkos::Cuda` for <…/interop/kokkos.hpp>: instances complete through their CUDA stream. The
/// runtime must use CUDA devices (`--starling-backend cuda`, or kokkos on CUDA), including the
/// device of the instance. @throws usage_error if that device is not among them, before any work
/// is queued; device_error when CUDA refuses the launch
///
/// A lost device, for example after an invalid access by a kernel, cannot be recovered: its futures
/// receive the `device_error`, but Kokkos ends the program at its next own CUDA call, for example
/// the release of a managed View.
namespace starling::kokkos {

template <>
struct space_traits<Kokkos::Cuda> {
  static constexpr completion how = completion::native_stream;
  static constexpr backend_kind family = backend_kind::cuda;
  using result_space = Kokkos::CudaHostPinnedSpace;
  /// Returns the device of the instance. Found by PCI address, because Kokkos 4 may have instances
  /// on several devices, and the worker's default device may be a different device.
  [[nodiscard]] static device& device_of(const Kokkos::Cuda& space, const char* call) {
    static thread_local int known = -1;
    static thread_local char bus_id[32] = {};
    if (known != space.cuda_device()) {
      const cudaError_t result = cudaDeviceGetPCIBusId(bus_id, sizeof bus_id, space.cuda_device());
      if (result != cudaSuccess)
        throw device_error(std::string("kokkos::") + call + ": " + cudaGetErrorString(result));
      known = space.cuda_device();
    }
    return detail::device_at(bus_id, call);
  }
  /// Returns and clears the last CUDA error: Kokkos does not check whether CUDA accepted a launch.
  [[nodiscard]] static const char* take_error() noexcept {
    const cudaError_t error = cudaGetLastError();
    return error == cudaSuccess ? nullptr : cudaGetErrorString(error);
  }
  [[nodiscard]] static future<void> get_future(device& target, const Kokkos::Cuda& space) {
    return cuda::get_future(target, space.cuda_stream());
  }
};

template <>
struct memory_kind_of<Kokkos::CudaSpace> {
  static constexpr memory_kind value = memory_kind::device;
  static constexpr backend_kind family = backend_kind::cuda;
};
template <>
struct memory_kind_of<Kokkos::CudaHostPinnedSpace> {
  static constexpr memory_kind value = memory_kind::pinned;
  static constexpr backend_kind family = backend_kind::cuda;
};

}  // namespace starling::kokkos
