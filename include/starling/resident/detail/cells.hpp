// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <starling/resident/detail/message.hpp>

namespace starling::resident::detail {

inline constexpr std::uint32_t no_cell = ~std::uint32_t{0};

/// A message that a scheduler keeps: ready to run, before its turn, or on its way out.
struct cell {
  message m;
  std::uint32_t next = no_cell;
  std::uint32_t destination = 0;  // of one on its way out: its scheduler
  std::uint32_t ticket = 0;       // of one on its way out: its number in the ring, if it has one
  std::uint32_t has_ticket = 0;
  std::uint32_t reference = 0;  // of one before its turn
  std::uint32_t padding[3] = {};
};
static_assert(sizeof(cell) == 128);

/// Cells in order, first in first out; a plain value without the memory.
struct cell_list {
  std::uint32_t first = no_cell;
  std::uint32_t last = no_cell;
  [[nodiscard]] constexpr bool empty() const noexcept { return first == no_cell; }
};

/// The cells of one scheduler, which alone touches them. Some lie in the scheduler itself, where
/// its group reaches them fastest; those that were freed last are taken first, so they are used
/// most.
///
/// Cell 0 is nobody's: what is written there is lost. It stands in where none is left, so that
/// whoever composes a message needs to look only at the end.
class cell_pool {
 public:
  static constexpr std::uint32_t near = 8;
  static constexpr std::uint32_t scrap = 0;

  /// `memory` holds `count` cells.
  constexpr cell_pool(cell* memory, std::uint32_t count) noexcept
      : m_far(memory), m_count(count + near), m_left(count + near - 1) {}

  [[nodiscard]] constexpr cell& operator[](std::uint32_t i) noexcept {
    return i < near ? m_near[i] : m_far[i - near];
  }
  [[nodiscard]] constexpr std::uint32_t left() const noexcept { return m_left; }
  [[nodiscard]] constexpr std::uint32_t count() const noexcept { return m_count; }

  /// `scrap` where none is left.
  [[nodiscard]] constexpr std::uint32_t take() noexcept {
    if (m_left == 0) return scrap;
    --m_left;
    if (m_freed == no_cell) return m_fresh++;
    const std::uint32_t taken = m_freed;
    m_freed = (*this)[taken].next;
    return taken;
  }
  constexpr void give_back(std::uint32_t i) noexcept {
    if (i == scrap) return;
    (*this)[i].next = m_freed;
    m_freed = i;
    ++m_left;
  }

  constexpr void append(cell_list& list, std::uint32_t i) noexcept {
    (*this)[i].next = no_cell;
    if (list.empty())
      list.first = i;
    else
      (*this)[list.last].next = i;
    list.last = i;
  }
  /// The first one; the list must not be empty.
  [[nodiscard]] constexpr std::uint32_t pop(cell_list& list) noexcept {
    const std::uint32_t taken = list.first;
    list.first = (*this)[taken].next;
    if (list.empty()) list.last = no_cell;
    return taken;
  }
  /// Takes out `taken`, the one behind `before` (no_cell: the first).
  constexpr void unlink(cell_list& list, std::uint32_t before, std::uint32_t taken) noexcept {
    const std::uint32_t behind = (*this)[taken].next;
    if (before == no_cell)
      list.first = behind;
    else
      (*this)[before].next = behind;
    if (list.last == taken) list.last = before;
  }

 private:
  cell m_near[near];
  cell* m_far;
  std::uint32_t m_count;
  std::uint32_t m_left;
  std::uint32_t m_fresh = scrap + 1;  // never taken yet from here on
  std::uint32_t m_freed = no_cell;
};

}  // namespace starling::resident::detail
