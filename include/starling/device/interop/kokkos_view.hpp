// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <type_traits>

#include <Kokkos_Core.hpp>

#include <starling/device/interop/kokkos_bridge.hpp>
#include <starling/device/types.hpp>

/// Views whose memory comes from the runtime's recycling allocators.
namespace starling::kokkos {

/// Which allocator serves a memory space; the headers of the spaces add theirs.
template <class MemorySpace>
struct memory_kind_of;
template <>
struct memory_kind_of<Kokkos::HostSpace> {
  static constexpr memory_kind value = memory_kind::host;
  static constexpr backend_kind family = backend_kind::host;  // of every device
};

/// The owner of an unmanaged View's memory. `ViewType` gives element, rank, layout and memory
/// space.
///
/// Elements are uninitialised. The memory goes back with the owner, which must outlive the last use
/// of the View: made for a stream it goes in that stream's order, else all work on it must be over.
/// Taking and giving back costs some ten nanoseconds, and no fence, unlike a managed View. Must not
/// outlive the runtime. Move-only.
template <class ViewType>
class recycled {
  using element = typename ViewType::non_const_value_type;
  static_assert(std::is_trivially_copyable_v<element>, "elements are never constructed");

 public:
  using view_type =
      Kokkos::View<typename ViewType::data_type, typename ViewType::array_layout,
                   typename ViewType::device_type, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

  /// Extents as for a View. @throws out_of_memory; usage_error when `where` is of a backend without
  /// memory of this space
  template <class... Extents>
  requires(std::is_convertible_v<Extents, std::size_t>&&...) explicit recycled(device& where,
                                                                               Extents... n)
      : m_memory(where, kind::value, kind::family, bytes(n...)), m_view(place(), n...) {}
  /// Freed in the order of `order`: dropped right after the submission that uses it last.
  template <class... Extents>
  requires(std::is_convertible_v<Extents, std::size_t>&&...) explicit recycled(const stream& order,
                                                                               Extents... n)
      : m_memory(order, kind::value, kind::family, bytes(n...)), m_view(place(), n...) {}

  [[nodiscard]] const view_type& view() const noexcept { return m_view; }

 private:
  using kind = memory_kind_of<typename ViewType::memory_space>;
  template <class... Extents>
  [[nodiscard]] static std::size_t bytes(Extents... n) {
    return view_type::required_allocation_size(static_cast<std::size_t>(n)...);
  }
  [[nodiscard]] element* place() const noexcept { return static_cast<element*>(m_memory.data()); }

  detail::memory_block m_memory;
  view_type m_view;
};

}  // namespace starling::kokkos
