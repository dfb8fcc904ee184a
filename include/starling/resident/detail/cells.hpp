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

/// A message to be worked on.
struct incoming {
  message* text = nullptr;  // null: there is none
  cell* kept = nullptr;     // where it lies; null: where it was received

  [[nodiscard]] static constexpr incoming of(cell* c) noexcept {
    if (c == nullptr) return {};
    return {&c->m, c};
  }
};

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
  static constexpr std::uint32_t near = 48;

  /// `count` cells with those here; `memory` has room for as many.
  constexpr cell_pool(cell* memory, std::uint32_t count) noexcept
      : m_left(count), m_count(count), m_fresh(memory) {
    for (cell& c : m_near) {
      c.next = m_freed;
      m_freed = &c;
    }
  }
  cell_pool(const cell_pool&) = delete;
  cell_pool& operator=(const cell_pool&) = delete;

  [[nodiscard]] constexpr std::uint32_t left() const noexcept { return m_left; }
  [[nodiscard]] constexpr std::uint32_t count() const noexcept { return m_count; }
  [[nodiscard]] constexpr bool is_scrap(const cell* c) const noexcept { return c == m_nobodys; }

  /// The one that is nobody's where none is left.
  [[nodiscard]] constexpr cell* take() noexcept {
    cell* const taken = m_freed;
    if (taken == nullptr || m_left == 0) return take_fresh();
    m_freed = taken->next;
    --m_left;
    return taken;
  }
  /// One that was taken; not the one that is nobody's.
  constexpr void give_back(cell* c) noexcept {
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
  [[nodiscard]] constexpr cell* take_fresh() noexcept {
    if (m_left == 0) return m_nobodys;
    --m_left;
    return m_fresh++;
  }

  cell* m_freed = nullptr;
  cell* m_nobodys = &m_scrap;  // its address, which a device takes long to make
  std::uint32_t m_left;
  std::uint32_t m_count;
  cell* m_fresh;  // never taken yet from here on
  cell m_near[near];
  cell m_scrap;
};

}  // namespace starling::resident::detail
