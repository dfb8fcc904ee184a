// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

namespace starling::detail {

/// How long a worker polls before it sleeps where other processes send messages. Where they have
/// cores of their own, a message costs least if it is polled for; where they share this one, what
/// is waited for cannot happen while it is polled for. So after a poll in vain the next ones are
/// short. When messages then come so soon after the worker has gone to sleep that a long poll would
/// have found them, it is tried again; if it is in vain all the same, less and less often.
class spin_patience {
 public:
  static constexpr std::uint64_t short_ns = 4'000;

  /// `long_ns`: as the user has chosen.
  [[nodiscard]] std::uint64_t limit(std::uint64_t long_ns) const noexcept {
    return m_is_short ? std::min(short_ns, long_ns) : long_ns;
  }
  /// A poll has ended, with what was waited for or not. What it finds at once, as one does that has
  /// been woken, says nothing of long ones.
  void polled(bool has_found, std::uint64_t ns) noexcept {
    if (m_is_short || (has_found && ns < short_ns)) return;
    m_doubt = has_found ? 0 : std::min(m_doubt + 1, most_doubt);
    m_is_short = !has_found;
    m_left = std::uint32_t{1} << m_doubt;
  }
  void slept(std::uint64_t ns, std::uint64_t long_ns) noexcept {
    if (m_is_short && ns < long_ns && --m_left == 0) m_is_short = false;
  }

 private:
  static constexpr std::uint32_t most_doubt = 10;
  bool m_is_short = false;
  std::uint32_t m_doubt = 0;
  std::uint32_t m_left = 0;  // sleeps that are too short, before a long poll is tried again
};

}  // namespace starling::detail
