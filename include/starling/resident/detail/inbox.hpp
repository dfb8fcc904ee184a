// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <starling/resident/detail/message.hpp>
#include <starling/resident/detail/world.hpp>

namespace starling::resident::detail {

/// The way into a scheduler: a ring for each source device, and for scheduler 0 that of the host.
/// Looks at them in turn. One thread uses it.
template <class Group>
class inbox {
 public:
  constexpr inbox(const world& w, std::uint32_t self) noexcept
      : m_world(&w), m_self(self),
        // Told seldom enough to cost little, often enough that senders need not wait.
        m_lag(w.l.ring_slots / 4) {}

  /// Takes one message, if there is any.
  [[nodiscard]] constexpr bool take(message& m) noexcept {
    for (std::uint32_t i = 0; i < m_world->l.devices; ++i) {
      const std::uint32_t source = m_turn;
      m_turn = m_turn + 1 == m_world->l.devices ? 0 : m_turn + 1;
      if (take_from(source, m)) return true;
    }
    return false;
  }
  /// The same from the host.
  [[nodiscard]] constexpr bool take_from_host(message& m) noexcept {
    if (m_self != 0) return false;
    const slot& next = m_world->link->to_device[m_from_host & (host_slots - 1)];
    if (!collect_flagged<Group>(next, m_from_host + 1, m)) return false;
    ++m_from_host;
    Group::store_release(&m_world->link->device_took, m_from_host);
    return true;
  }

  /// Messages of the host that have been taken.
  [[nodiscard]] constexpr std::uint32_t from_host() const noexcept { return m_from_host; }

 private:
  [[nodiscard]] constexpr bool take_from(std::uint32_t source, message& m) noexcept {
    const std::uint32_t number = m_taken[source];
    const slot& next = m_world->ring(m_self, source)[number & (m_world->l.ring_slots - 1)];
    if (!Group::collect(next, number + 1, m)) return false;
    m_taken[source] = number + 1;
    if (number + 1 - m_told[source] >= m_lag) {
      m_told[source] = number + 1;
      Group::store_release(&m_world->outgoing(source, m_self)->taken, number + 1);
    }
    return true;
  }

  const world* m_world;
  std::uint32_t m_taken[max_devices] = {};
  std::uint32_t m_told[max_devices] = {};
  std::uint32_t m_from_host = 0;
  std::uint32_t m_self;
  std::uint32_t m_lag;
  std::uint32_t m_turn = 0;
};

}  // namespace starling::resident::detail
