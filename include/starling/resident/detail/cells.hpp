// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <starling/resident/detail/message.hpp>

namespace starling::resident::detail {

/// A message that a scheduler keeps: ready to run, waiting for its turn, or waiting to be sent.
struct cell {
  message m;
  cell* next = nullptr;
  std::uint32_t destination = 0;  // to be sent: the receiving scheduler
  std::uint32_t ticket = 0;       // to be sent: its ticket for the ring, if it has one
  std::uint32_t reference = 0;    // waiting for its turn: its reference number
  std::uint32_t padding[3] = {};
};
static_assert(sizeof(cell) == 128);

/// A message to be handled.
struct incoming {
  message* text = nullptr;  // null: there is none
  cell* kept = nullptr;     // the cell with the message; null: it is at its inbox position

  [[nodiscard]] static constexpr incoming of(cell* c) noexcept {
    if (c == nullptr) return {};
    return {&c->m, c};
  }
};

/// A FIFO list of cells. It does not own the cells.
struct cell_list {
  cell* first = nullptr;
  cell* last = nullptr;
  [[nodiscard]] constexpr bool empty() const noexcept { return first == nullptr; }
};

/// The cells of one scheduler; accessed by its leader only. Some cells are stored in the scheduler
/// itself, where its group reaches them fastest; the cells freed last are taken first, so these are
/// used most.
///
/// One cell, the scrap cell, stands in where no cell is left: data written there is lost. So the
/// composition of a message needs one check (`is_scrap`), at its end.
class cell_pool {
 public:
  static constexpr std::uint32_t near = 48;

  /// A pool of `count` cells, including the `near` cells in this object. `memory` has room for
  /// `count` cells.
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

  /// Returns a free cell, or the scrap cell where none is left.
  [[nodiscard]] constexpr cell* take() noexcept {
    cell* const taken = m_freed;
    if (taken == nullptr || m_left == 0) return take_fresh();
    m_freed = taken->next;
    --m_left;
    return taken;
  }
  /// Frees a cell that was taken; not the scrap cell.
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
  /// Removes and returns the first cell; the list must not be empty.
  [[nodiscard]] constexpr cell* pop(cell_list& list) noexcept {
    cell* const taken = list.first;
    list.first = taken->next;
    return taken;
  }
  /// Removes `taken`, the cell after `before` (null: the first).
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
  cell* m_nobodys = &m_scrap;  // its address, which a device takes long to compute
  std::uint32_t m_left;
  std::uint32_t m_count;
  cell* m_fresh;  // first of the cells that have never been taken
  cell m_near[near];
  cell m_scrap;
};

}  // namespace starling::resident::detail
