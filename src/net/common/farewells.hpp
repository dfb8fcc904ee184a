// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

namespace starling::detail {

/// How often each rank has come to `finish`: it says so behind all that it has sent before. Used by
/// progress() alone.
class farewells {
 public:
  /// Of control messages, which transports send themselves.
  static constexpr unsigned number = 0xffff;

  farewells(int size, int self) : m_self(std::size_t(self)), m_of(std::size_t(size)) {}

  void begin_round() noexcept { ++m_of[m_self]; }
  void note(int from) noexcept { ++m_of[std::size_t(from)]; }
  /// It has said farewell since this rank last did, or as often.
  [[nodiscard]] bool has_come(int rank) const noexcept {
    return m_of[std::size_t(rank)] >= m_of[m_self] && m_of[std::size_t(rank)] != 0;
  }
  /// All have come as often as this rank.
  [[nodiscard]] bool are_complete() const noexcept {
    for (const std::size_t n : m_of)
      if (n < m_of[m_self]) return false;
    return true;
  }

 private:
  std::size_t m_self;
  std::vector<std::size_t> m_of;
};

}  // namespace starling::detail
