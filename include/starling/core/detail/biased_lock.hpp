// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

#include <starling/core/detail/spin_lock.hpp>
#include <starling/core/detail/worker.hpp>

namespace starling::detail {

/// Lock for sections of a few instructions that mostly the same worker enters, such as those of a
/// channel between two tasks that hand over to each other (Dice, Moir, Scherer, "Quickly
/// reacquirable locks", 2003). After enough entries in a row the lock is biased to that worker,
/// which then enters without a read-modify-write. Any other thread that enters revokes the bias
/// with a process-wide memory barrier. Each revocation doubles the number of entries that the next
/// bias needs; the lock is always biased to the same worker.
class biased_lock {
 public:
  /// Holds the lock during its lifetime.
  class [[nodiscard]] guard {
   public:
    explicit guard(biased_lock& lock) noexcept
        : m_lock(lock), m_quick(lock.enter(worker::current())) {}
    guard(const guard&) = delete;
    guard& operator=(const guard&) = delete;
    ~guard() {
      // Release: the next holder sees this section's accesses, whether it enters by bias or lock.
      if (m_quick) [[likely]]
        m_lock.m_inside.store(false, std::memory_order_release);
      else
        m_lock.m_held.unlock();
    }

   private:
    biased_lock& m_lock;
    const bool m_quick;
  };

 private:
  /// Enters the section. True: by the bias. The store to m_inside and the second load of m_bias
  /// need no fence: a thread that revokes the bias clears m_bias, executes a process-wide barrier
  /// and then reads m_inside.
  [[nodiscard]] bool enter(const worker* here) noexcept {
    if (here != nullptr && m_bias.load(std::memory_order_relaxed) == here) [[likely]] {
      m_inside.store(true, std::memory_order_relaxed);
      std::atomic_signal_fence(std::memory_order_seq_cst);
      if (m_bias.load(std::memory_order_relaxed) == here) [[likely]]
        return true;
      m_inside.store(false, std::memory_order_release);
    }
    enter_slowly(here);
    return false;
  }
  void enter_slowly(const worker* here) noexcept;

  // The worker to which the lock is biased; null: none. Written under m_held only.
  std::atomic<const worker*> m_bias{nullptr};
  std::atomic<bool> m_inside{false};  // the biased worker holds the lock; written by m_owner only
  spin_lock m_held;                   // held by sections that are not entered by the bias
  // Guarded by m_held:
  std::uint32_t m_entries = 0;  // entries in a row by the worker m_last
  std::uint32_t m_needed = 64;  // entries in a row before the lock is biased
  const worker* m_last = nullptr;
  const worker* m_owner = nullptr;  // the only worker that the lock is ever biased to
};

}  // namespace starling::detail
