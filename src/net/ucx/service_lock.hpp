// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <thread>

namespace starling::detail {

/// A lock that is held for long now and then. Threads that have something else to do only try;
/// those that must wait sleep meanwhile.
class service_lock {
 public:
  void lock() noexcept {
    constexpr int tries = 64;
    for (int i = 0; !try_lock(); ++i) {
      if (i < tries)
        std::this_thread::yield();
      else
        std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
  }
  // Sequentially consistent, all of them: a thread that has announced work for the holder and finds
  // the lock taken relies on the holder's looking for work after `unlock`.
  [[nodiscard]] bool try_lock() noexcept {
    return !m_is_held.load(std::memory_order_seq_cst) &&
           !m_is_held.exchange(true, std::memory_order_seq_cst);
  }
  void unlock() noexcept { m_is_held.exchange(false, std::memory_order_seq_cst); }

 private:
  std::atomic<bool> m_is_held{false};
};

}  // namespace starling::detail
