// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <starling/net/message.hpp>

#include "farewells.hpp"

namespace starling::detail {

/// Returns the share of the window that a message takes: the memory that it occupies at the
/// receiver, with its header.
constexpr std::size_t window_share(std::size_t bytes) noexcept { return bytes + 96; }

/// Bytes that one rank may have sent to another and that are not destroyed there. Guarded by the
/// owner's lock.
class send_window {
 public:
  explicit send_window(std::size_t limit) noexcept : m_limit(limit) {}

  /// Returns whether a message may be sent. One larger than the window is admitted when less than
  /// `smallest_credit` is used: the receiver may hold back credit below that amount. A farewell is
  /// always admitted, because `finish` must not wait for a receiver that keeps other messages.
  [[nodiscard]] bool admits(const message_block& b) const noexcept {
    return b.number == farewells::number || m_used + window_share(b.size) <= m_limit ||
           m_used < smallest_credit(m_limit);
  }
  void take(std::size_t share) noexcept { m_used += share; }
  /// Returns whether at least `share` is used.
  [[nodiscard]] bool has_taken(std::uint64_t share) const noexcept { return share <= m_used; }
  void give_back(std::size_t share) noexcept { m_used -= share; }

  /// Returns the smallest amount of credit for which the receiver sends a separate message.
  [[nodiscard]] static constexpr std::size_t smallest_credit(std::size_t limit) noexcept {
    return limit / 4 + 1;
  }

 private:
  std::size_t m_limit;
  std::size_t m_used = 0;
};

}  // namespace starling::detail
