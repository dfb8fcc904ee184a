// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <starling/resident/detail/world.hpp>

namespace starling::resident::detail {

inline constexpr std::uint32_t no_block = ~std::uint32_t{0};

/// A scheduler's own memory: pieces that last as long as the program, and blocks of one size that
/// come back, for spans that wait here. One thread uses it.
class scheduler_heap {
 public:
  constexpr scheduler_heap(const world& w, std::uint32_t self) noexcept
      : m_slab(w.slabs[w.device_of(self)]),
        m_used(w.l.heaps + self % w.l.schedulers * w.l.heap_bytes), m_end(m_used + w.l.heap_bytes),
        m_block_bytes(w.l.block_bytes) {}

  [[nodiscard]] constexpr std::uint64_t left() const noexcept { return m_end - m_used; }

  [[nodiscard]] constexpr bool has_blocks(std::uint32_t n) const noexcept {
    return m_free_blocks >= n || (n - m_free_blocks) * std::uint64_t(m_block_bytes) <= left();
  }

  /// 128-byte aligned, or null.
  [[nodiscard]] constexpr std::byte* allocate(std::uint64_t bytes) noexcept {
    const std::uint64_t whole = whole_lines(bytes);
    if (whole < bytes || whole > left()) return nullptr;
    m_used += whole;
    return m_slab + m_used - whole;
  }

  /// `no_block` where there is no memory.
  [[nodiscard]] constexpr std::uint32_t take_block() noexcept {
    if (m_freed == no_block) {
      const std::byte* fresh = allocate(m_block_bytes);
      return fresh == nullptr ? no_block
                              : static_cast<std::uint32_t>((fresh - m_slab) / line_bytes);
    }
    const std::uint32_t taken = m_freed;
    __builtin_memcpy(&m_freed, block(taken), sizeof m_freed);
    --m_free_blocks;
    return taken;
  }
  constexpr void give_back(std::uint32_t number) noexcept {
    __builtin_memcpy(block(number), &m_freed, sizeof m_freed);
    m_freed = number;
    ++m_free_blocks;
  }
  [[nodiscard]] constexpr std::byte* block(std::uint32_t number) const noexcept {
    return m_slab + number * line_bytes;
  }

 private:
  std::byte* m_slab;
  std::uint64_t m_used;  // offsets in the slab
  std::uint64_t m_end;
  std::uint32_t m_block_bytes;
  std::uint32_t m_freed = no_block;  // each says which is the next
  std::uint32_t m_free_blocks = 0;
};

}  // namespace starling::resident::detail
