// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

namespace starling::detail {

/// Lock that may be held for long. Threads with other work only try to take it; threads that must
/// wait sleep in the kernel.
class service_lock {
 public:
  void lock() noexcept {
    while (!try_lock()) m_is_held.wait(1, std::memory_order_seq_cst);
  }
  // All operations are sequentially consistent: a thread that submits work and then finds the lock
  // taken relies on the holder to read the submission after `unlock`.
  [[nodiscard]] bool try_lock() noexcept {
    return m_is_held.load(std::memory_order_seq_cst) == 0 &&
           m_is_held.exchange(1, std::memory_order_seq_cst) == 0;
  }
  void unlock() noexcept {
    m_is_held.exchange(0, std::memory_order_seq_cst);
    m_is_held.notify_one();
  }

 private:
  std::atomic<int> m_is_held{0};  // an int, so that wait() is a futex
};

}  // namespace starling::detail
