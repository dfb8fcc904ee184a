// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <starling/resident/detail/world.hpp>

namespace starling::resident::detail {

/// The private rings of one sending scheduler, and the choice of the next destination. Used by one
/// thread.
template <class Group>
class private_rings {
 public:
  static constexpr std::uint32_t nowhere = ~std::uint32_t{0};

  /// Notes that a message was sent through a shared ring.
  constexpr void note_shared(std::uint32_t destination) noexcept { m_last = destination; }
  /// Called at intervals: returns the destination of the last message sent through a shared ring,
  /// if several successive calls found the same destination; otherwise `nowhere`.
  [[nodiscard]] constexpr std::uint32_t wanted() noexcept {
    const std::uint32_t to = m_last;
    m_last = nowhere;
    if (m_count == most_private_rings) return nowhere;
    m_often = to == m_frequent && to != nowhere ? m_often + 1 : 0;
    m_frequent = to;
    if (m_often < often_enough) return nowhere;
    m_often = 0;
    return to;
  }
  /// Claims a free ring of a receiving scheduler, atomically. Returns its number, or no_ring.
  [[nodiscard]] static constexpr std::uint32_t claim(scheduler_line& receiver) noexcept {
    std::uint32_t number = 0;
    while (number != most_private_rings && !Group::set_once(receiver.taken_rings + number))
      ++number;
    return number == most_private_rings ? no_ring : number;
  }
  /// Gives back a claimed ring that was not used.
  static constexpr void give_back(scheduler_line& receiver, std::uint32_t number) noexcept {
    Group::store(receiver.taken_rings + number, 0u);
  }

  /// Returns the number of this sender's private rings, which is the index of the next one.
  [[nodiscard]] constexpr std::uint32_t count() const noexcept { return m_count; }
  constexpr void add(std::uint32_t receiver, std::uint32_t number) noexcept {
    m_rings[m_count++] = {receiver, number};
  }
  /// Returns the index of the private ring to a receiving scheduler; count() if there is none.
  [[nodiscard]] constexpr std::uint32_t find(std::uint32_t receiver) const noexcept {
    std::uint32_t which = 0;
    while (which != m_count && m_rings[which].receiver != receiver) ++which;
    return which;
  }
  /// Returns the ring's number among the private rings of its receiving scheduler.
  [[nodiscard]] constexpr std::uint32_t number(std::uint32_t which) const noexcept {
    return m_rings[which].number;
  }

 private:
  static constexpr std::uint32_t often_enough = 3;
  struct ring {
    std::uint32_t receiver = nowhere;
    std::uint32_t number = 0;
  };

  ring m_rings[most_private_rings];
  std::uint32_t m_count = 0;
  std::uint32_t m_last = nowhere;
  std::uint32_t m_frequent = nowhere;  // `m_last` at the previous call of `wanted`
  std::uint32_t m_often = 0;
};

}  // namespace starling::resident::detail
