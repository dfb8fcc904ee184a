// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <thread>

namespace starling::detail {

/// Lock for sections of a few instructions. Yields after a while, because with more threads than
/// cores the holder may not be running.
class spin_lock {
 public:
  void lock() noexcept {
    // Acquire pairs with the release in unlock: the section sees the last holder's accesses.
    while (m_held.exchange(true, std::memory_order_acquire)) wait();
  }
  [[nodiscard]] bool try_lock() noexcept {
    return !m_held.load(std::memory_order_relaxed) &&
           !m_held.exchange(true, std::memory_order_acquire);
  }
  void unlock() noexcept { m_held.store(false, std::memory_order_release); }

 private:
  [[gnu::noinline]] void wait() const noexcept {
    for (int i = 0; m_held.load(std::memory_order_relaxed); ++i)
      if (i >= 64) std::this_thread::yield();
  }
  std::atomic<bool> m_held{false};
};

}  // namespace starling::detail
