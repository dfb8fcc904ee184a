// SPDX-License-Identifier: Apache-2.0
#include <starling/core/detail/biased_lock.hpp>

#include <algorithm>
#include <thread>

#include "futex.hpp"

namespace starling::detail {

void biased_lock::enter_slowly(const worker* here) noexcept {
  constexpr std::uint32_t most_needed = 1U << 20;
  m_held.lock();
  if (m_bias.load(std::memory_order_relaxed) != nullptr) {
    m_bias.store(nullptr, std::memory_order_relaxed);
    // The barrier is supported, because otherwise the lock would not have been biased.
    while (!process_barrier()) std::this_thread::yield();
    // Acquire pairs with the release at the end of the last section that the bias owner entered.
    while (m_inside.load(std::memory_order_acquire)) std::this_thread::yield();
    m_needed = std::min(2 * m_needed, most_needed);
  }
  m_entries = here == m_last ? m_entries + 1 : 0;
  m_last = here;
  if (here == nullptr || m_entries < m_needed || !can_barrier()) return;
  // The bias is given to one worker only: a former bias owner that was delayed in `enter` would
  // clear m_inside while the next bias owner is inside.
  if (m_owner != nullptr && m_owner != here) return;
  m_owner = here;
  m_entries = 0;
  m_bias.store(here, std::memory_order_relaxed);  // other threads read it only to revoke it
}

}  // namespace starling::detail
