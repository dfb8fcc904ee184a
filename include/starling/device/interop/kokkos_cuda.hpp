// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <starling/core/error.hpp>
#include <starling/device/interop/cuda.hpp>
#include <starling/device/interop/kokkos.hpp>

/// `Kokkos::Cuda` for <…/interop/kokkos.hpp>: instances complete through their CUDA stream. The
/// runtime's devices must be CUDA's (`--starling-backend cuda`, or kokkos where that is on CUDA),
/// and one of them the instance's. @throws usage_error where it is none of them, before anything is
/// queued; device_error when CUDA refuses the launch
///
/// A device that fails for good, as after a bad access by a kernel, is beyond recovery: its futures
/// get the `device_error`, but Kokkos ends the program at its next own call of CUDA, among them the
/// release of a managed View.
namespace starling::kokkos {

template <>
struct space_traits<Kokkos::Cuda> {
  static constexpr completion how = completion::native_stream;
  static constexpr backend_kind family = backend_kind::cuda;
  using result_space = Kokkos::CudaHostPinnedSpace;
  /// Kokkos 4 may have instances on several devices, and workers have one each.
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
  /// Kokkos does not look whether CUDA took a launch.
  [[nodiscard]] static const char* take_error() noexcept {
    const cudaError_t error = cudaGetLastError();
    return error == cudaSuccess ? nullptr : cudaGetErrorString(error);
  }
  [[nodiscard]] static future<void> get_future(device& where, const Kokkos::Cuda& space) {
    return cuda::get_future(where, space.cuda_stream());
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
