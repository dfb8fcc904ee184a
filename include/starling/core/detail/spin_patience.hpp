// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

namespace starling::detail {

/// Adapts the time that a worker polls before it sleeps, in a runtime connected to other processes.
/// If these processes have other cores, polling gives the lowest latency; if they share the
/// worker's core, they cannot send a message while the worker polls. So after an unsuccessful poll
/// the next polls are short. If messages then arrive so soon after the worker has fallen asleep
/// that a long poll would have found them, a long poll is tried again: after repeated failures less
/// and less often.
class spin_patience {
 public:
  static constexpr std::uint64_t short_ns = 4'000;

  /// Returns the time to poll. `long_ns`: the time that the user has chosen.
  [[nodiscard]] std::uint64_t limit(std::uint64_t long_ns) const noexcept {
    return m_is_short ? std::min(short_ns, long_ns) : long_ns;
  }
  /// Records the end of a poll. A poll that finds work at once, as after a wake-up, or that has
  /// lasted longer than a long poll, as polling was needed, is no evidence about long polls.
  void polled(bool has_found, std::uint64_t ns, std::uint64_t long_ns) noexcept {
    if (m_is_short || (has_found && (ns < short_ns || ns > long_ns))) return;
    m_doubt = has_found ? 0 : std::min(m_doubt + 1, most_doubt);
    m_is_short = !has_found;
    m_left = std::uint32_t{1} << m_doubt;
  }
  /// Records the duration of a sleep.
  void slept(std::uint64_t ns, std::uint64_t long_ns) noexcept {
    if (m_is_short && ns < long_ns && --m_left == 0) m_is_short = false;
  }

 private:
  static constexpr std::uint32_t most_doubt = 10;
  bool m_is_short = false;
  std::uint32_t m_doubt = 0;
  std::uint32_t m_left = 0;  // sleeps shorter than a long poll until a long poll is tried again
};

}  // namespace starling::detail
