// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <starling/resident/detail/bytes.hpp>
#include <starling/resident/detail/world.hpp>

namespace starling::resident::detail {

inline constexpr std::uint32_t no_block = ~std::uint32_t{0};

/// A scheduler's own memory: allocations that last as long as the program, and reused blocks of one
/// size, for spans that wait on this scheduler. Used by one thread.
class scheduler_heap {
 public:
  constexpr scheduler_heap(const world& w, std::uint32_t self) noexcept
      : m_slab(w.slabs[w.device_of(self)]),
        m_used(w.l.heaps + w.local_index(self) * w.l.heap_bytes), m_end(m_used + w.l.heap_bytes),
        m_block_bytes(w.l.block_bytes), m_lent(w.l.blocks) {
    judge();
  }

  [[nodiscard]] constexpr std::uint64_t left() const noexcept { return m_end - m_used; }

  /// Returns whether less memory is left than needed to move the spans in all payload blocks of one
  /// source device to this heap.
  [[nodiscard]] constexpr bool is_low() const noexcept { return m_is_low; }

  /// Returns 128-byte aligned memory, or null.
  [[nodiscard]] constexpr std::byte* allocate(std::uint64_t bytes) noexcept {
    const std::uint64_t whole = whole_lines(bytes);
    if (whole < bytes || whole > left()) return nullptr;
    m_used += whole;
    judge();
    return m_slab + m_used - whole;
  }

  /// Returns the number of a block, or `no_block` if there is no memory.
  [[nodiscard]] constexpr std::uint32_t take_block() noexcept {
    if (m_freed == no_block) {
      const std::byte* fresh = allocate(m_block_bytes);
      return fresh == nullptr ? no_block
                              : static_cast<std::uint32_t>((fresh - m_slab) / line_bytes);
    }
    const std::uint32_t taken = m_freed;
    m_freed = load_as<std::uint32_t>(block(taken));
    --m_free_blocks;
    judge();
    return taken;
  }
  constexpr void give_back(std::uint32_t number) noexcept {
    store_as(block(number), m_freed);
    m_freed = number;
    ++m_free_blocks;
    judge();
  }
  [[nodiscard]] constexpr std::byte* block(std::uint32_t number) const noexcept {
    return m_slab + number * line_bytes;
  }

 private:
  constexpr void judge() noexcept {
    m_is_low =
        m_free_blocks < m_lent && (m_lent - m_free_blocks) * std::uint64_t(m_block_bytes) > left();
  }

  std::byte* m_slab;
  std::uint64_t m_used;  // first unused byte, as offset in the slab
  std::uint64_t m_end;
  std::uint32_t m_block_bytes;
  std::uint32_t m_freed = no_block;  // first free block; each one holds the number of the next
  std::uint32_t m_free_blocks = 0;
  std::uint32_t m_lent;  // number of payload blocks whose spans may have to be moved to this heap
  bool m_is_low = false;
};

}  // namespace starling::resident::detail
