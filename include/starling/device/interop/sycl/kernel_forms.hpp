// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <type_traits>

#include <sycl/sycl.hpp>

#include <starling/device/kernel.hpp>

/// SYCL forms of portable kernels. Included only by the kernel compiler, at run time, before the
/// file that instantiates the kernels (src/device/sycl/sycl_compiler.cpp).
///
/// Not in namespace starling: SYCL's macros use an unqualified `sycl::`, which must not find
/// `starling::sycl`.
namespace starling_sycl {

namespace experimental = sycl::ext::oneapi::experimental;

/// A work-group that runs a group. The same members as `starling::host_group`.
class group {
 public:
  group(const sycl::nd_item<3>& item, void* scratch, std::size_t bytes) noexcept
      : m_item(item), m_scratch(scratch), m_bytes(bytes) {}

  [[nodiscard]] int size() const noexcept { return static_cast<int>(m_item.get_local_range(2)); }
  [[nodiscard]] int rank() const noexcept { return static_cast<int>(m_item.get_local_id(2)); }

  template <class T>
  [[nodiscard]] T* scratch() const noexcept {
    static_assert(std::is_trivially_copyable_v<T> && alignof(T) <= 64);
    return static_cast<T*>(m_scratch);
  }
  [[nodiscard]] std::size_t scratch_bytes() const noexcept { return m_bytes; }

  void sync() const noexcept { sycl::group_barrier(m_item.get_group()); }

  template <class T>
  void copy(T* scratch, const T* from, int n) const {
    static_assert(std::is_trivially_copyable_v<T> && (sizeof(T) == 8 || sizeof(T) == 16));
    for (int i = rank(); i < n; i += size()) scratch[i] = from[i];
  }

  template <class F>
  void for_each(int n, F&& f) const {
    for (int i = rank(); i < n; i += size()) f(i);
  }

 private:
  const sycl::nd_item<3>& m_item;
  void* m_scratch;
  std::size_t m_bytes;
};

/// Most bytes of a kernel object that is passed as a launch argument. Larger objects, and the
/// objects of a submission of several kernels, are passed as an array in memory. Devices accept at
/// least 1024 bytes of arguments, including the remaining arguments. The library contains the same
/// constant (src/device/sycl/sycl_launch.cpp).
inline constexpr std::size_t largest_argument = 960;
template <class Kernel>
using argument = std::conditional_t<sizeof(Kernel) <= largest_argument, Kernel, char>;

template <class Kernel>
Kernel object_of(const argument<Kernel>& single, const Kernel* many, std::size_t which) {
  if constexpr (std::is_same_v<argument<Kernel>, Kernel>)
    if (many == nullptr) return single;
  return many[which];
}

/// The unit of scratch memory, which guarantees its alignment.
struct alignas(64) scratch_line {
  unsigned char bytes[64];
};

/// Runs the indices of all kernel objects, which follow each other in z: `depth` work-groups each.
template <class Kernel>
SYCL_EXT_ONEAPI_FUNCTION_PROPERTY((experimental::nd_range_kernel<3>))
void run_indices(argument<Kernel> single, const Kernel* many, starling::range n,
                 std::size_t depth) {
  const auto item = sycl::ext::oneapi::this_work_item::get_nd_item<3>();
  const std::size_t layer = item.get_group(0);
  const auto x = item.get_global_id(2);
  const auto y = item.get_global_id(1);
  const auto z = layer % depth * item.get_local_range(0) + item.get_local_id(0);
  if (x >= std::size_t(n.nx) || y >= std::size_t(n.ny) || z >= std::size_t(n.nz)) return;
  const Kernel k = object_of<Kernel>(single, many, layer / depth);
  using number = starling::detail::coordinate_of<Kernel>;
  k(starling::detail::index_of<Kernel>{static_cast<number>(x), static_cast<number>(y),
                                       static_cast<number>(z)});
}

template <class Kernel>
SYCL_EXT_ONEAPI_FUNCTION_PROPERTY((experimental::nd_range_kernel<3>))
void run_groups(argument<Kernel> single, const Kernel* many, std::size_t depth, std::size_t bytes,
                experimental::work_group_memory<scratch_line[]> scratch) {
  const auto item = sycl::ext::oneapi::this_work_item::get_nd_item<3>();
  const std::size_t layer = item.get_group(0);
  const Kernel k = object_of<Kernel>(single, many, layer / depth);
  group g(item, &scratch[0], bytes);
  k(g, starling::index3{static_cast<int>(item.get_group(2)), static_cast<int>(item.get_group(1)),
                        static_cast<int>(layer % depth)});
}

}  // namespace starling_sycl
