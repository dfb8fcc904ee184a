// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

#include <starling/core/detail/lifo_slot.hpp>
#include <starling/core/detail/promise_base.hpp>
#include <starling/core/detail/work_deque.hpp>

namespace starling::detail {

/// Work that other threads make ready on a worker: a stack of arrivals for each priority. A sender
/// links its item in; the worker takes the whole stack with one exchange and reverses it.
class worker_inbox {
 public:
  /// Adds `c`. Any thread.
  void post(promise_base& c) noexcept {
    auto& arrivals = m_arrivals[static_cast<int>(c.priority)];
    c.next = nullptr;  // assumes an empty inbox: reading it first would fetch its cache line twice
    // seq_cst: in one order with the sleeper's "asleep" store, so either the sleeper sees the item
    // or this thread sees the sleeper asleep.
    while (!arrivals.compare_exchange_weak(c.next, &c, std::memory_order_seq_cst,
                                           std::memory_order_relaxed)) {
    }
  }

  /// Appends the arrivals of a priority to `to`, oldest first. The worker only.
  void empty_into(ready_list& to, priority p) noexcept {
    auto& arrivals = m_arrivals[static_cast<int>(p)];
    if (arrivals.load(std::memory_order_relaxed) == nullptr) [[likely]]
      return;
    // The prefetch of the item from the sender's cache overlaps with the exchange of the inbox.
    prefetch(*arrivals.load(std::memory_order_relaxed));
    // Acquire pairs with the senders' release: their writes before the post are visible.
    promise_base* newest = arrivals.exchange(nullptr, std::memory_order_acquire);
    promise_base* oldest = nullptr;
    while (newest != nullptr) newest = std::exchange(newest->next, std::exchange(oldest, newest));
    while (oldest != nullptr) to.push(*std::exchange(oldest, oldest->next));
  }

  /// Returns whether there are no arrivals, by a reading with the given order. Any thread.
  [[nodiscard]] bool looks_empty(std::memory_order order) const noexcept {
    return m_arrivals[0].load(order) == nullptr && m_arrivals[1].load(order) == nullptr;
  }

 private:
  /// Prefetches the beginning of the frame of a coroutine or message: pointers, promise, arguments.
  static void prefetch(promise_base& c) noexcept {
    const auto* frame = static_cast<const char*>(c.handle().address());
    __builtin_prefetch(frame);
    __builtin_prefetch(frame + 64);
  }

  std::atomic<promise_base*> m_arrivals[2]{nullptr, nullptr};
};

/// Ready work of a worker, other than its inbox: for each priority pinned work, oldest first, and a
/// deque that thieves take from; in front of the deques a LIFO slot; pinned coroutines that have
/// yielded. Members not marked otherwise are called by the worker only.
class worker_queues {
 public:
  /// Kinds of work that are preferred in turn, so that none starves. Pinned work of high priority
  /// is not among them, because it is taken first anyway.
  enum kind : unsigned { high, pinned_normal, yielded, normal, kinds };

  /// Declares that there is no thief.
  void set_private() noexcept {
    for (auto& deque : m_deques) deque.set_private();
    m_keeps_newest = true;
  }

  /// Sets whether `keep` uses the LIFO slot. Returns the item to share if not, or null.
  [[nodiscard]] promise_base* keep_newest(bool keeps) noexcept {
    m_keeps_newest = keeps;
    return keeps ? nullptr : m_slot.take();
  }
  /// Puts `c` into the LIFO slot if the newest item is kept there. Returns the item to share in its
  /// place, `c` or the one that was there, or null.
  [[nodiscard]] promise_base* keep(promise_base& c) noexcept {
    if (!m_keeps_newest || c.priority != priority::normal) [[unlikely]]
      return &c;
    promise_base* const older = m_slot.take();
    m_slot.put(c);
    return older;
  }

  /// Adds `c` to a deque, where thieves find it. False: the deque could not grow for lack of
  /// memory, and `c` was queued as pinned work instead.
  bool share(promise_base& c) noexcept {
    if (m_deques[static_cast<int>(c.priority)].push(&c)) [[likely]]
      return true;
    push_pinned(c);
    return false;
  }

  [[nodiscard]] ready_list& pinned(priority p) noexcept { return m_pinned[static_cast<int>(p)]; }
  void push_pinned(promise_base& c) noexcept { m_pinned[static_cast<int>(c.priority)].push(c); }
  void push_yielded(promise_base& c) noexcept { m_yielded.push(c); }

  /// Takes `c` back if it was pushed last and has not been taken since.
  [[nodiscard]] bool take_back(const promise_base& c) noexcept {
    if (m_slot.holds(&c)) [[likely]]
      return m_slot.take() != nullptr;
    // Both deques, as `c.priority` must not be read: another worker may run `c` and change it.
    return m_deques[1].pop_if_newest(&c) || m_deques[0].pop_if_newest(&c);
  }

  /// Returns whether there is work other than stealable work of normal priority and yielded work.
  [[nodiscard]] bool has_urgent() const noexcept {
    return !m_pinned[0].empty() || !m_pinned[1].empty() || !m_deques[0].looks_empty();
  }
  /// Takes the newest stealable item of high priority, or returns null.
  [[nodiscard]] promise_base* take_high() noexcept { return m_deques[0].pop(); }
  /// Takes the newest stealable item of normal priority, else the oldest yielded one, or returns
  /// null.
  [[nodiscard]] promise_base* take_normal() noexcept {
    if (promise_base* c = m_slot.take()) return c;
    if (promise_base* c = m_deques[1].pop()) return c;
    return m_yielded.pop();
  }
  /// Takes the oldest item of a kind, or returns null.
  [[nodiscard]] promise_base* oldest_of(kind k) noexcept {
    if (k == high) return m_deques[0].steal();
    if (k == pinned_normal) return m_pinned[1].pop();
    if (k == yielded) return m_yielded.pop();
    promise_base* c = m_deques[1].steal();
    return c != nullptr ? c : m_slot.take();
  }

  /// Returns whether a deque seems to hold an item. Any thread.
  [[nodiscard]] bool looks_stealable() const noexcept {
    return !m_deques[0].looks_empty() || !m_deques[1].looks_empty();
  }
  /// Returns whether deques and LIFO slot seem to be empty. Any thread.
  [[nodiscard]] bool looks_empty() const noexcept {
    return !looks_stealable() && !m_slot.occupied();
  }
  /// Takes the oldest stealable item unless it is the only one, or returns null. Thieves only.
  [[nodiscard]] promise_base* steal_spare() noexcept {
    for (auto& deque : m_deques) {
      const std::int64_t size = deque.apparent_size();
      if (size > 1 || (size == 1 && m_slot.occupied()))
        if (promise_base* c = deque.steal()) return c;
    }
    return nullptr;
  }
  /// Takes the oldest stealable item, last the one in the LIFO slot, or returns null. Thieves only.
  /// `barrier`: see lifo_slot::steal.
  template <class Barrier>
  [[nodiscard]] promise_base* steal_last(Barrier barrier) noexcept {
    for (auto& deque : m_deques)
      if (promise_base* c = deque.steal()) return c;
    return m_slot.steal(barrier);
  }

 private:
  bool m_keeps_newest = false;
  ready_list m_pinned[2];
  ready_list m_yielded;
  lifo_slot<promise_base> m_slot;  // read by thieves, like the deques; each in separate cache lines
  work_deque<promise_base> m_deques[2];
};

}  // namespace starling::detail
