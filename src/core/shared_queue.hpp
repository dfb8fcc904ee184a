// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <mutex>

#include <starling/core/detail/promise_base.hpp>
#include <starling/core/detail/spin_lock.hpp>

namespace starling::detail {

/// Ready work of one runtime that any worker may take: work from threads outside, and coroutines
/// that have yielded. Oldest first within each of three lists. Thread-safe.
class shared_queue {
 public:
  /// Adds work. Workers take `priority::high` before the normal work that can be stolen.
  void push(promise_base& c) noexcept { put(c, c.priority == priority::high ? urgent : normal); }
  /// Adds a coroutine that yields. One of `priority::high` takes turns with normal work, which it
  /// would starve otherwise.
  void push_yielded(promise_base& c) noexcept {
    put(c, c.priority == priority::high ? yielded : normal);
  }

  /// Takes the oldest item of high priority that has not yielded, or returns null.
  [[nodiscard]] promise_base* pop_urgent() noexcept {
    std::lock_guard lock(m_lock);
    return take(urgent);
  }
  /// Takes the oldest item of the remaining two lists in turn, or returns null.
  [[nodiscard]] promise_base* pop() noexcept {
    if (m_is_empty.load(std::memory_order_relaxed)) return nullptr;
    std::lock_guard lock(m_lock);
    m_normal_is_next = !m_normal_is_next;
    const list first = m_normal_is_next ? yielded : normal;
    promise_base* c = take(first);
    return c != nullptr ? c : take(first == normal ? yielded : normal);
  }

  /// Returns whether there seems to be work of high priority, without the lock.
  [[nodiscard]] bool has_urgent() const noexcept {
    return m_has_urgent.load(std::memory_order_relaxed);
  }
  [[nodiscard]] bool empty() const noexcept { return m_is_empty.load(std::memory_order_seq_cst); }

 private:
  enum list : unsigned { urgent, yielded, normal };

  void put(promise_base& c, list to) noexcept {
    std::lock_guard lock(m_lock);
    m_lists[to].push(c);
    if (to == urgent) m_has_urgent.store(true, std::memory_order_relaxed);
    // seq_cst: in one order with a sleeper's announcement, as in worker::post.
    m_is_empty.store(false, std::memory_order_seq_cst);
  }
  [[nodiscard]] promise_base* take(list from) noexcept {
    promise_base* c = m_lists[from].pop();
    if (from == urgent) m_has_urgent.store(!m_lists[urgent].empty(), std::memory_order_relaxed);
    m_is_empty.store(std::ranges::all_of(m_lists, &ready_list::empty), std::memory_order_relaxed);
    return c;
  }

  spin_lock m_lock;
  ready_list m_lists[3];          // guarded by m_lock, as are all writes of the flags
  bool m_normal_is_next = false;  // guarded by m_lock
  std::atomic<bool> m_is_empty{true};
  // Read by workers before each task, so it has a separate cache line.
  alignas(64) std::atomic<bool> m_has_urgent{false};
};

}  // namespace starling::detail
