// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <starling/device/interop/kokkos.hpp>
#include <starling/device/interop/sycl.hpp>

/// `Kokkos::SYCL` (Kokkos::Experimental::SYCL before 4.5) for <…/interop/kokkos.hpp>: instances
/// complete through their queue. Written from Kokkos' documentation; not tested yet.
namespace starling::kokkos {

/// Kokkos' SYCL types, in the namespace that the installed version uses.
namespace sycl_names {
using namespace Kokkos;
using namespace Kokkos::Experimental;
using space = SYCL;
using device_memory = SYCLDeviceUSMSpace;
using pinned_memory = SYCLHostUSMSpace;
}  // namespace sycl_names

template <>
struct space_traits<sycl_names::space> {
  static constexpr completion how = completion::native_stream;
  static constexpr backend_kind family = backend_kind::sycl;
  using result_space = sycl_names::pinned_memory;
  [[nodiscard]] static device& device_of(const sycl_names::space&, const char* call) {
    return detail::device_here(call);
  }
  [[nodiscard]] static const char* take_error() noexcept { return nullptr; }  // SYCL throws
  [[nodiscard]] static future<void> get_future(device&, const sycl_names::space& space) {
    return sycl::get_future(space.sycl_queue());
  }
};

template <>
struct memory_kind_of<sycl_names::device_memory> {
  static constexpr memory_kind value = memory_kind::device;
  static constexpr backend_kind family = backend_kind::sycl;
};
template <>
struct memory_kind_of<sycl_names::pinned_memory> {
  static constexpr memory_kind value = memory_kind::pinned;
  static constexpr backend_kind family = backend_kind::sycl;
};

}  // namespace starling::kokkos
