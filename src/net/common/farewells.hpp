// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace starling::detail {

/// Counts how often each rank has called `finish`. A rank's farewell follows all messages that it
/// sent before. Guarded by the transport's `m_progress`.
class farewells {
 public:
  /// Message number of a farewell: a control message of the transport, above handler_limit.
  static constexpr unsigned number = 0xffff;

  farewells(int size, int self) : m_self(std::size_t(self)), m_of(std::size_t(size)) {}

  void begin_round() noexcept { ++m_of[m_self]; }
  void note(int from) noexcept { ++m_of[std::size_t(from)]; }
  /// Returns whether `rank` has sent at least one farewell, and as many as this rank.
  [[nodiscard]] bool has_come(int rank) const noexcept {
    return m_of[std::size_t(rank)] >= m_of[m_self] && m_of[std::size_t(rank)] != 0;
  }
  /// Returns whether every rank has sent as many farewells as this rank.
  [[nodiscard]] bool are_complete() const noexcept {
    return std::ranges::min(m_of) >= m_of[m_self];
  }

 private:
  std::size_t m_self;
  std::vector<std::size_t> m_of;
};

}  // namespace starling::detail
