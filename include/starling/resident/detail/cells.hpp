// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <starling/resident/detail/message.hpp>

namespace starling::resident::detail {

/// A message that a scheduler keeps: ready to run, before its turn, or on its way out.
struct cell {
  message m;
  cell* next = nullptr;
  std::uint32_t destination = 0;  // of one on its way out: its scheduler
  std::uint32_t ticket = 0;       // of one on its way out: its number in the ring, if it has one
  std::uint32_t reference = 0;    // of one before its turn
  std::uint32_t padding[3] = {};
};
static_assert(sizeof(cell) == 128);

/// Cells in order, first in first out; a plain value without the memory.
struct cell_list {
  cell* first = nullptr;
  cell* last = nullptr;
  [[nodiscard]] constexpr bool empty() const noexcept { return first == nullptr; }
};

/// The cells of one scheduler, which alone touches them. Some lie in the scheduler itself, where
/// its group reaches them fastest; those that were freed last are taken first, so they are used
/// most.
///
/// One cell is nobody's: what is written there is lost. It stands in where none is left, so that
/// whoever composes a message needs to look only at the end.
class cell_pool {
 public:
  static constexpr std::uint32_t near = 8;

  /// `count` cells with those here; `memory` has room for as many.
  constexpr cell_pool(cell* memory, std::uint32_t count) noexcept
      : m_fresh(memory), m_count(count), m_left(count) {
    for (cell& c : m_near) {
      c.next = m_freed;
      m_freed = &c;
    }
  }
  cell_pool(const cell_pool&) = delete;
  cell_pool& operator=(const cell_pool&) = delete;

  [[nodiscard]] constexpr std::uint32_t left() const noexcept { return m_left; }
  [[nodiscard]] constexpr std::uint32_t count() const noexcept { return m_count; }
  [[nodiscard]] constexpr bool is_scrap(const cell* c) const noexcept { return c == &m_scrap; }

  /// The one that is nobody's where none is left.
  [[nodiscard]] constexpr cell* take() noexcept {
    if (m_left == 0) return &m_scrap;
    --m_left;
    if (m_freed == nullptr) return m_fresh++;
    cell* const taken = m_freed;
    m_freed = taken->next;
    return taken;
  }
  constexpr void give_back(cell* c) noexcept {
    if (is_scrap(c)) return;
    c->next = m_freed;
    m_freed = c;
    ++m_left;
  }

  constexpr void append(cell_list& list, cell* c) noexcept {
    c->next = nullptr;
    if (list.empty())
      list.first = c;
    else
      list.last->next = c;
    list.last = c;
  }
  /// The first one; the list must not be empty.
  [[nodiscard]] constexpr cell* pop(cell_list& list) noexcept {
    cell* const taken = list.first;
    list.first = taken->next;
    return taken;
  }
  /// Takes out `taken`, the one behind `before` (null: the first).
  constexpr void unlink(cell_list& list, cell* before, cell* taken) noexcept {
    if (before == nullptr)
      list.first = taken->next;
    else
      before->next = taken->next;
    if (list.last == taken) list.last = before;
  }

 private:
  cell m_near[near];
  cell m_scrap;
  cell* m_fresh;  // never taken yet from here on
  std::uint32_t m_count;
  std::uint32_t m_left;
  cell* m_freed = nullptr;
};

}  // namespace starling::resident::detail
