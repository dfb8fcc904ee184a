// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace starling::detail {

/// Work-stealing deque of pointers (Chase and Lev, SPAA 2005; orders after Lê et al., PPoPP 2013,
/// with sequentially consistent accesses, which ThreadSanitizer supports, in place of fences).
/// The owner pushes and pops at the bottom, any thread steals from the top.
template <class T>
class work_deque {
 public:
  work_deque() { m_ring.store(grow_to(256), std::memory_order_relaxed); }

  /// Adds an item. False: the ring is full and a larger ring could not be allocated. Owner only.
  [[nodiscard]] bool push(T* item) noexcept {
    const std::int64_t bottom = m_bottom.load(std::memory_order_relaxed);
    ring* r = m_ring.load(std::memory_order_relaxed);
    // A stale top only makes the deque seem fuller than it is.
    if (bottom - m_top_seen >= r->capacity) [[unlikely]] {
      m_top_seen = m_top.load(std::memory_order_acquire);
      if (bottom - m_top_seen >= r->capacity) {
        r = enlarge(r, bottom);
        if (r == nullptr) return false;
      }
    }
    r->put(bottom, item);
    // Release: publishes the slot and the item's content to a thief that reads this bottom.
    m_bottom.store(bottom + 1, std::memory_order_release);
    return true;
  }

  /// Takes the newest item, or returns null. Owner only.
  [[nodiscard]] T* pop() noexcept {
    std::int64_t bottom = m_bottom.load(std::memory_order_relaxed);
    // Top only grows, so a deque that is empty for a stale top is empty: no ordering needed.
    if (bottom <= m_top.load(std::memory_order_relaxed)) return nullptr;
    --bottom;
    ring* r = m_ring.load(std::memory_order_relaxed);
    if (m_private) {
      m_bottom.store(bottom, std::memory_order_relaxed);
      return r->get(bottom);
    }
    // Reserve the item before reading top: store then load, in one total order with steal().
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

  /// Takes `item` if it is the newest item and no thief takes it first. Owner only.
  [[nodiscard]] bool pop_if_newest(const T* item) noexcept {
    const std::int64_t bottom = m_bottom.load(std::memory_order_relaxed);
    if (bottom <= m_top.load(std::memory_order_relaxed)) return false;
    if (m_ring.load(std::memory_order_relaxed)->get(bottom - 1) != item) return false;
    return pop() == item;
  }

  /// Takes the oldest item, or returns null if empty or if another thread took it. Any thread.
  [[nodiscard]] T* steal() noexcept {
    std::int64_t top = m_top.load(std::memory_order_seq_cst);
    const std::int64_t bottom = m_bottom.load(std::memory_order_seq_cst);
    if (top >= bottom) return nullptr;
    // Read before the claim: once top has advanced, the owner may overwrite the slot. Rings are not
    // freed before the deque, so an old ring still holds the item at `top`.
    T* item = m_ring.load(std::memory_order_acquire)->get(top);
    if (!m_top.compare_exchange_strong(top, top + 1, std::memory_order_seq_cst)) return nullptr;
    return item;
  }

  /// Returns the number of items by a reading that may be stale. Any thread.
  [[nodiscard]] std::int64_t apparent_size() const noexcept {
    return m_bottom.load(std::memory_order_relaxed) - m_top.load(std::memory_order_relaxed);
  }

  /// Declares that only the owner steals, so that pop needs no fence. Before any other call.
  void set_private() noexcept { m_private = true; }

  /// Returns whether the deque is empty by a reading that may be stale. Any thread.
  [[nodiscard]] bool looks_empty() const noexcept {
    return m_bottom.load(std::memory_order_relaxed) <= m_top.load(std::memory_order_relaxed);
  }

 private:
  struct ring {
    explicit ring(std::int64_t n) : capacity(n), slots(new std::atomic<T*>[std::size_t(n)]) {}
    // Slots are relaxed: m_bottom (push) and m_top (claims) order their accesses.
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
      m_ring.store(larger, std::memory_order_release);  // publishes the copied slots to thieves
      return larger;
    } catch (const std::bad_alloc&) {
      return nullptr;
    }
  }

  alignas(64) std::atomic<std::int64_t> m_bottom{0};  // next free index; written by the owner only
  std::atomic<ring*> m_ring{nullptr};
  std::int64_t m_top_seen = 0;  // owner's last reading of m_top
  bool m_private = false;
  alignas(64) std::atomic<std::int64_t> m_top{0};  // oldest item; advancing it takes the item
  std::vector<std::unique_ptr<ring>> m_rings;      // old rings remain readable for slow thieves
};

}  // namespace starling::detail
