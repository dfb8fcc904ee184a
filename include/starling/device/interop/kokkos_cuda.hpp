// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <starling/device/interop/cuda.hpp>
#include <starling/device/interop/kokkos.hpp>

/// `Kokkos::Cuda` for <…/interop/kokkos.hpp>: instances complete through their CUDA stream. The
/// runtime's devices must be CUDA's (`--starling-backend cuda`, or kokkos where that is on CUDA),
/// and that of the calling worker the one that Kokkos uses.
namespace starling::kokkos {

template <>
struct space_traits<Kokkos::Cuda> {
  static constexpr completion how = completion::native_stream;
  static constexpr backend_kind family = backend_kind::cuda;
  using result_space = Kokkos::CudaHostPinnedSpace;
  [[nodiscard]] static future<void> get_future(const Kokkos::Cuda& space) {
    return cuda::get_future(space.cuda_stream());
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
