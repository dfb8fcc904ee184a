// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <type_traits>

#include <Kokkos_Core.hpp>

#include <starling/device/interop/kokkos_bridge.hpp>
#include <starling/device/types.hpp>

/// Views whose memory comes from the runtime's recycling allocators.
namespace starling::kokkos {

/// Maps a memory space to its allocator. The headers of the spaces add specialisations.
template <class MemorySpace>
struct memory_kind_of;
template <>
struct memory_kind_of<Kokkos::HostSpace> {
  static constexpr memory_kind value = memory_kind::host;
  static constexpr backend_kind family = backend_kind::host;  // available on every device
};

/// An owner of memory from a recycling allocator, with an unmanaged View of it. `ViewType` gives
/// element type, rank, layout and memory space.
///
/// Elements are uninitialised. The destructor frees the memory: in the order of the stream that the
/// owner was made for; without a stream, all work on the View must be complete. Allocating and
/// freeing cost some ten nanoseconds and no fence, unlike a managed View. Must not outlive the
/// runtime. Move-only.
template <class ViewType>
class recycled {
  using element = typename ViewType::non_const_value_type;
  static_assert(std::is_trivially_copyable_v<element>, "elements are never constructed");

 public:
  using view_type =
      Kokkos::View<typename ViewType::data_type, typename ViewType::array_layout,
                   typename ViewType::device_type, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

  /// Allocates a View with extents `n`. @throws out_of_memory; usage_error when the backend of
  /// `target` has no memory of this space
  template <class... Extents>
  requires(std::is_convertible_v<Extents, std::size_t>&&...) explicit recycled(device& target,
                                                                               Extents... n)
      : m_memory(target, kind::value, kind::family, bytes(n...)), m_view(place(), n...) {}
  /// As above, freed in the order of `order`: may be destroyed right after the last submission that
  /// uses it.
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
