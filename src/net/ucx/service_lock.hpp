// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

namespace starling::detail {

/// A lock that is held for long now and then. Threads that have something else to do only try;
/// those that must wait sleep meanwhile.
class service_lock {
 public:
  void lock() noexcept {
    while (!try_lock()) m_is_held.wait(1, std::memory_order_seq_cst);
  }
  // Sequentially consistent, all of them: a thread that has announced work for the holder and finds
  // the lock taken relies on the holder's looking for work after `unlock`.
  [[nodiscard]] bool try_lock() noexcept {
    return m_is_held.load(std::memory_order_seq_cst) == 0 &&
           m_is_held.exchange(1, std::memory_order_seq_cst) == 0;
  }
  void unlock() noexcept {
    m_is_held.exchange(0, std::memory_order_seq_cst);
    m_is_held.notify_one();
  }

 private:
  std::atomic<int> m_is_held{0};  // an int, which the kernel can wait for
};

}  // namespace starling::detail
