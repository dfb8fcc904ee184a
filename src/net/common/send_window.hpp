// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <starling/net/message.hpp>

#include "farewells.hpp"

namespace starling::detail {

/// What a message of `bytes` bytes takes of its window: the memory that it occupies where it waits.
constexpr std::size_t window_share(std::size_t bytes) noexcept { return bytes + 96; }

/// How much one rank may have sent another that has not been destroyed there.
class send_window {
 public:
  explicit send_window(std::size_t limit) noexcept : m_limit(limit) {}

  /// A message larger than the window goes when little else is on its way; what the other rank has
  /// not told yet is less than `worth_telling`.
  [[nodiscard]] bool admits(std::size_t share) const noexcept {
    return m_used + share <= m_limit || m_used < worth_telling(m_limit);
  }
  /// Nobody shall wait for a farewell because others are kept.
  [[nodiscard]] bool admits(const message_block& b) const noexcept {
    return b.number == farewells::number || admits(window_share(b.size));
  }
  void take(std::size_t share) noexcept { m_used += share; }
  /// Whether as much is used.
  [[nodiscard]] bool has_taken(std::uint64_t share) const noexcept { return share <= m_used; }
  void give_back(std::size_t share) noexcept { m_used -= share; }

  [[nodiscard]] static constexpr std::size_t worth_telling(std::size_t limit) noexcept {
    return limit / 4 + 1;
  }

 private:
  std::size_t m_limit;
  std::size_t m_used = 0;
};

}  // namespace starling::detail
