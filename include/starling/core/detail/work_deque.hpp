// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace starling::detail {

/// Work-stealing deque of pointers (Chase and Lev, SPAA 2005; orders after Lê et al., PPoPP 2013,
/// with sequentially consistent accesses in place of fences, which ThreadSanitizer understands).
/// The owner pushes and pops at the bottom, any thread steals from the top.
template <class T>
class work_deque {
 public:
  work_deque() { m_ring.store(grow_to(256), std::memory_order_relaxed); }
  work_deque(const work_deque&) = delete;
  work_deque& operator=(const work_deque&) = delete;

  /// Owner only. False when the ring is full and no larger one could be allocated.
  [[nodiscard]] bool push(T* item) noexcept {
    const std::int64_t bottom = m_bottom.load(std::memory_order_relaxed);
    ring* r = m_ring.load(std::memory_order_relaxed);
    // A stale top only makes the deque look fuller than it is.
    if (bottom - m_top_seen >= r->capacity) [[unlikely]] {
      m_top_seen = m_top.load(std::memory_order_acquire);
      if (bottom - m_top_seen >= r->capacity) {
        r = enlarge(r, bottom);
        if (r == nullptr) return false;
      }
    }
    r->put(bottom, item);
    // Publishes the slot, and the item's contents, to a thief that reads this bottom.
    m_bottom.store(bottom + 1, std::memory_order_release);
    return true;
  }

  /// Owner only: the newest item, or null.
  [[nodiscard]] T* pop() noexcept {
    std::int64_t bottom = m_bottom.load(std::memory_order_relaxed);
    // Top only grows, so "empty" seen with an old top is still empty: no ordering needed.
    if (bottom <= m_top.load(std::memory_order_relaxed)) return nullptr;
    --bottom;
    ring* r = m_ring.load(std::memory_order_relaxed);
    if (m_private) {
      m_bottom.store(bottom, std::memory_order_relaxed);
      return r->get(bottom);
    }
    // Reserve the item before looking at top: store then load in one total order with steal().
    m_bottom.store(bottom, std::memory_order_seq_cst);
    std::int64_t top = m_top.load(std::memory_order_seq_cst);
    if (top < bottom) return r->get(bottom);
    T* item = nullptr;
    if (top == bottom) {  // the last item: race the thieves for it
      item = r->get(bottom);
      if (!m_top.compare_exchange_strong(top, top + 1, std::memory_order_seq_cst)) item = nullptr;
    }
    m_bottom.store(bottom + 1, std::memory_order_relaxed);
    return item;
  }

  /// Owner only: takes `item` if it is the newest one and no thief is faster.
  [[nodiscard]] bool pop_if_newest(const T* item) noexcept {
    const std::int64_t bottom = m_bottom.load(std::memory_order_relaxed);
    if (bottom <= m_top.load(std::memory_order_relaxed)) return false;
    if (m_ring.load(std::memory_order_relaxed)->get(bottom - 1) != item) return false;
    return pop() == item;
  }

  /// Any thread: the oldest item, or null when empty or when another thread was faster.
  [[nodiscard]] T* steal() noexcept {
    std::int64_t top = m_top.load(std::memory_order_seq_cst);
    const std::int64_t bottom = m_bottom.load(std::memory_order_seq_cst);
    if (top >= bottom) return nullptr;
    // Read before the claim: once top moves on, the owner may overwrite the slot. Rings are never
    // freed while the deque lives, so an old ring still holds the item at `top`.
    T* item = m_ring.load(std::memory_order_acquire)->get(top);
    if (!m_top.compare_exchange_strong(top, top + 1, std::memory_order_seq_cst)) return nullptr;
    return item;
  }

  /// Any thread: how many items there seemed to be.
  [[nodiscard]] std::int64_t apparent_size() const noexcept {
    return m_bottom.load(std::memory_order_relaxed) - m_top.load(std::memory_order_relaxed);
  }

  /// Before any other call: nobody but the owner will ever steal, so pop needs no fence.
  void set_private() noexcept { m_private = true; }

  /// Any thread: whether there seemed to be something to take.
  [[nodiscard]] bool looks_empty() const noexcept {
    return m_bottom.load(std::memory_order_relaxed) <= m_top.load(std::memory_order_relaxed);
  }

 private:
  struct ring {
    explicit ring(std::int64_t n) : capacity(n), slots(new std::atomic<T*>[std::size_t(n)]) {}
    // Slots are relaxed: m_bottom (push) and m_top (claims) order them.
    void put(std::int64_t i, T* item) noexcept {
      slots[std::size_t(i & (capacity - 1))].store(item, std::memory_order_relaxed);
    }
    [[nodiscard]] T* get(std::int64_t i) const noexcept {
      return slots[std::size_t(i & (capacity - 1))].load(std::memory_order_relaxed);
    }
    std::int64_t capacity;
    std::unique_ptr<std::atomic<T*>[]> slots;
  };

  ring* grow_to(std::int64_t capacity) {
    m_rings.push_back(std::make_unique<ring>(capacity));
    return m_rings.back().get();
  }

  [[gnu::noinline]] ring* enlarge(const ring* old, std::int64_t bottom) noexcept {
    try {
      ring* larger = grow_to(old->capacity * 2);
      for (std::int64_t i = m_top_seen; i < bottom; ++i) larger->put(i, old->get(i));
      m_ring.store(larger, std::memory_order_release);  // a thief sees the copied slots
      return larger;
    } catch (const std::bad_alloc&) {
      return nullptr;
    }
  }

  alignas(64) std::atomic<std::int64_t> m_bottom{0};  // next free index; written by the owner only
  std::atomic<ring*> m_ring{nullptr};
  std::int64_t m_top_seen = 0;  // owner's last reading of m_top
  bool m_private = false;
  alignas(64) std::atomic<std::int64_t> m_top{0};  // oldest item; whoever advances it owns the item
  std::vector<std::unique_ptr<ring>> m_rings;      // old rings stay readable for slow thieves
};

}  // namespace starling::detail
