// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <starling/resident/detail/ending.hpp>
#include <starling/resident/detail/far_group.hpp>
#include <starling/resident/detail/heap.hpp>
#include <starling/resident/detail/world.hpp>

namespace starling::resident::detail {

/// Memory that a scheduler's elements allocate from its heap, and memory that other schedulers
/// lend. Used by one thread.
template <class Group>
class scheduler_memory {
 public:
  constexpr scheduler_memory(const world& w, std::uint32_t device, scheduler_heap& heap,
                             ending<Group>& end) noexcept
      : m_world(&w), m_heap(&heap), m_end(&end), m_device(device) {}

  /// Allocates memory that lasts as long as the program; null after a failure.
  [[nodiscard]] constexpr std::byte* allocate(std::uint64_t bytes) noexcept {
    std::byte* const at = m_heap->allocate(bytes);
    if (at == nullptr) m_end->fail(failure::no_heap, bytes, m_heap->left());
    return at;
  }

  /// Returns the address of memory of this device for use on all devices.
  [[nodiscard]] constexpr address address_of(const std::byte* at) const noexcept {
    return address::of(m_device, offset_of(at));
  }
  /// Returns whether the `bytes` bytes at `at` are in this device's slab, which other schedulers
  /// can access.
  [[nodiscard]] constexpr bool is_shared(const std::byte* at, std::uint64_t bytes) const noexcept {
    const std::uint64_t offset = offset_of(at);
    return offset < m_world->l.bytes && bytes <= m_world->l.bytes - offset;
  }

  /// Copies lent memory of another device if it is not mapped here. The copy is valid until the
  /// next call.
  constexpr void fetch(address from, std::uint64_t bytes) noexcept {
    if (!is_far(m_world->at<std::byte>(from))) return;
    if (m_fetched == nullptr || bytes > m_fetched_room) {
      // The heap never frees memory. So the size is doubled, if there is room, and few allocations
      // are needed.
      const bool is_much = 2 * m_fetched_room > bytes && 2 * m_fetched_room <= m_heap->left();
      m_fetched_room = is_much ? 2 * m_fetched_room : bytes;
      m_fetched = allocate(m_fetched_room);
    }
    if (m_fetched != nullptr) Group::fetch(m_fetched, m_world->at<std::byte>(from), bytes);
  }
  /// Returns where lent memory can be read; null after a failure.
  [[nodiscard]] constexpr const std::byte* lent_at(address from) const noexcept {
    const std::byte* const at = m_world->at<std::byte>(from);
    if constexpr (!Group::reaches_all)
      if (is_far(at)) return m_fetched;
    return at;
  }

 private:
  [[nodiscard]] constexpr std::uint64_t offset_of(const std::byte* at) const noexcept {
    return static_cast<std::uint64_t>(at - m_world->slabs[m_device]);
  }

  const world* m_world;
  scheduler_heap* m_heap;
  ending<Group>* m_end;
  std::uint32_t m_device;
  std::byte* m_fetched = nullptr;  // memory for copies made by `fetch`
  std::uint64_t m_fetched_room = 0;
};

}  // namespace starling::resident::detail
