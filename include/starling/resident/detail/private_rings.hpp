// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <starling/resident/detail/world.hpp>

namespace starling::resident::detail {

/// Which rings into other schedulers are one's own, and where another one is worth asking for. One
/// thread uses it.
template <class Group>
class private_rings {
 public:
  static constexpr std::uint32_t nowhere = ~std::uint32_t{0};

  /// A message has gone into a ring that others use, too.
  constexpr void note_shared(std::uint32_t destination) noexcept { m_last = destination; }
  /// Now and then: where the last one went, if that was so some times in a row; else nowhere.
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
  /// A ring of a receiver that nobody has, which nobody else gets from now on; or no_ring.
  [[nodiscard]] static constexpr std::uint32_t claim(scheduler_line& receiver) noexcept {
    std::uint32_t number = 0;
    while (number != most_private_rings && !Group::set_once(receiver.taken_rings + number))
      ++number;
    return number == most_private_rings ? no_ring : number;
  }
  /// One that was not used.
  static constexpr void give_back(scheduler_line& receiver, std::uint32_t number) noexcept {
    Group::store(receiver.taken_rings + number, 0u);
  }

  /// Which of one's own the next one is.
  [[nodiscard]] constexpr std::uint32_t count() const noexcept { return m_count; }
  constexpr void add(std::uint32_t receiver, std::uint32_t number) noexcept {
    m_rings[m_count++] = {receiver, number};
  }
  /// Which of one's own leads there; count() if none does.
  [[nodiscard]] constexpr std::uint32_t find(std::uint32_t receiver) const noexcept {
    std::uint32_t which = 0;
    while (which != m_count && m_rings[which].receiver != receiver) ++which;
    return which;
  }
  /// Which of its receiver's it is.
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
  std::uint32_t m_frequent = nowhere;  // `m_last` when it was asked for before
  std::uint32_t m_often = 0;
};

}  // namespace starling::resident::detail
