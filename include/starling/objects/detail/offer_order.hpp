// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

/// The order of the offers of a channel: docs/design/0050-channels-of-migrating-elements.md.
namespace starling::detail {

/// The position of an offer among those of its channel end. Offers that an end sends before and
/// after its migration come from two workers, so that they may overtake each other.
struct offer_position {
  std::uint64_t line = 0;     // names the sending end; an end that is made again has another one
  std::uint64_t number = 1;   // among the offers of the line, from 1 on
  bool may_overtake = false;  // the sender has migrated
};

/// A line of offers, and the next number that its receiver takes.
struct offer_line {
  std::uint64_t line = 0;
  std::uint64_t next = 1;
};

/// What a channel end does with an offer that arrives.
enum class turn : std::uint8_t {
  now,    ///< it is the next one
  later,  ///< earlier ones have not arrived yet
  past    ///< its number was used before
};

/// Finds the order in which a channel end takes the offers of its peer. A pure data structure, used
/// by one worker at a time; migrates with the end.
class offer_order {
 public:
  /// Decides about an offer; `turn::now`: it is taken. The first offer of a line that cannot be
  /// overtaken may have any number: the receiver may have been made after earlier ones.
  /// @throws std::bad_alloc
  [[nodiscard]] turn take(const offer_position& p) {
    if (p.line != m_now.line || p.number != m_now.next) [[unlikely]]
      return take_other(p);
    ++m_now.next;
    return turn::now;
  }
  /// Returns whether an offer of a channel, not an offer without one, has arrived.
  [[nodiscard]] bool has_begun() const noexcept { return m_now.line != 0; }
  /// Returns null for a line of which no offer has arrived.
  [[nodiscard]] const offer_line* find(std::uint64_t line) const noexcept;
  /// Adds a line that another order has begun. @throws std::bad_alloc
  void adopt(const offer_line& begun) {
    if (has_begun())
      m_others.push_back(begun);
    else
      m_now = begun;
  }
  /// Appends all lines that have begun to `to`. @throws std::bad_alloc
  void list(std::vector<offer_line>& to) const;

 private:
  [[nodiscard]] turn take_other(const offer_position& p);

  offer_line m_now;  // of the last offer
  std::vector<offer_line> m_others;
};

}  // namespace starling::detail
