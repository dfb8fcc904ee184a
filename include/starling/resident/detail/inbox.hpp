// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <starling/resident/detail/cells.hpp>
#include <starling/resident/detail/ring.hpp>
#include <starling/resident/detail/world.hpp>

namespace starling::resident::detail {

/// When the memory of the host is to be looked at, which takes a device long.
template <class Group>
class host_looks {
 public:
  [[nodiscard]] constexpr bool is_due() noexcept {
    if constexpr (Group::host_look_ns != 0) {
      const std::uint64_t now = Group::now_ns();
      if (now - m_last < Group::host_look_ns) return false;
      m_last = now;
    }
    return true;
  }
  constexpr void hurry() noexcept { m_last = 0; }

 private:
  std::uint64_t m_last = 0;
};

/// The way into a scheduler: a ring for each source device, and for scheduler 0 that of the host.
/// Looks at them in turn. One thread uses it.
template <class Group>
class inbox {
 public:
  constexpr inbox(const world& w, std::uint32_t self, cell_pool& cells) noexcept
      : m_world(&w), m_cells(&cells), m_rings(w.ring(self, 0)), m_sources(w.l.devices),
        m_slots(w.l.ring_slots), m_self(self),
        // Told seldom enough to cost little, often enough that senders need not wait.
        m_lag(w.l.ring_slots / 4) {}

  /// Takes one message into a cell, if there is any; else null.
  [[nodiscard]] constexpr cell* take() noexcept {
    for (std::uint32_t n = 0; n < m_sources; ++n) {
      const std::uint32_t source = m_turn;
      m_turn = m_turn + 1 == m_sources ? 0 : m_turn + 1;
      cell* const c = take_from(source);
      if (c != nullptr) return c;
    }
    return nullptr;
  }
  /// The same from the host.
  [[nodiscard]] constexpr cell* take_from_host() noexcept {
    if (m_self != 0 || !m_host_looks.is_due()) return nullptr;
    const slot& next = m_world->link->to_device[m_from_host & (host_slots - 1)];
    unit_words first;
    if (!has_come_flagged<Group>(next, m_from_host + 1, first)) return nullptr;
    cell* const c = m_cells->take();
    if (m_cells->is_scrap(c)) return nullptr;
    collect_flagged<Group>(next, first, c->m);
    m_host_looks.hurry();  // there may be more
    ++m_from_host;
    Group::store_release(&m_world->link->device_took, m_from_host);
    return c;
  }

  /// Messages of the host that have been taken.
  [[nodiscard]] constexpr std::uint32_t from_host() const noexcept { return m_from_host; }

 private:
  [[nodiscard]] constexpr cell* take_from(std::uint32_t source) noexcept {
    const std::uint32_t number = m_taken[source];
    const slot& next = m_rings[source * m_slots + (number & (m_slots - 1))];
    unit_words first;
    if (!Group::has_come(next, number + 1, first)) return nullptr;
    cell* const c = m_cells->take();
    if (m_cells->is_scrap(c)) return nullptr;
    if (!Group::collect(next, number + 1, first, c->m)) {
      m_cells->give_back(c);
      return nullptr;
    }
    m_taken[source] = number + 1;
    if (number + 1 - m_told[source] >= m_lag) {
      m_told[source] = number + 1;
      Group::store_release(&m_world->outgoing(source, m_self)->taken, number + 1);
    }
    return c;
  }

  const world* m_world;
  cell_pool* m_cells;
  slot* m_rings;  // of one's own, by source
  std::uint32_t m_sources;
  std::uint32_t m_slots;  // of each
  std::uint32_t m_taken[max_devices] = {};
  std::uint32_t m_told[max_devices] = {};
  std::uint32_t m_from_host = 0;
  host_looks<Group> m_host_looks;
  std::uint32_t m_self;
  std::uint32_t m_lag;
  std::uint32_t m_turn = 0;
};

}  // namespace starling::resident::detail
