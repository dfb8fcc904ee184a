// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

namespace starling::detail {

/// LIFO slot: one item in front of a work-stealing deque. The owner puts and takes without a fence
/// or a read-modify-write; instead a thief executes a process-wide memory barrier.
///
/// The owner empties the slot, then reads the claim; a thief writes the claim, executes the barrier
/// (a full fence in every thread), then reads the slot. So the owner sees the claim, or the thief
/// sees the empty slot; if both see each other, compare-and-swap on the claim decides (Dekker 1965;
/// Dice et al., "Asymmetric Dekker Synchronization", 2001). The claim's states:
///   0               no theft is under way
///   item | claimed  a thief is about to take `item`; the first CAS, by thief or owner, decides
///   item | taken    a thief has `item`, though the slot still shows it; the owner clears both
///   item            the owner kept `item`; the thief that claimed it will clear the claim
/// A failed claim is cleared by its thief, never by the owner: if the word were free while the
/// thief is still active, a second claim of the same item would equal the first claim.
/// `Atomic` is for tests, which control the order of the accesses.
template <class T, template <class> class Atomic = std::atomic>
class lifo_slot {
 public:
  lifo_slot() = default;
  lifo_slot(const lifo_slot&) = delete;
  lifo_slot& operator=(const lifo_slot&) = delete;

  /// Stores `item`. Owner only; the slot must be empty, that is `take` was called.
  void put(T& item) noexcept {
    // Release: a thief that reads the pointer sees the item's content.
    m_item.store(&item, std::memory_order_release);
  }

  /// Takes the item, or returns null. Owner only.
  [[nodiscard]] T* take() noexcept {
    T* item = m_item.load(std::memory_order_relaxed);
    if (item == nullptr) return nullptr;
    m_item.store(nullptr, std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);  // a thief's barrier orders the processor
    if (m_claim.load(std::memory_order_relaxed) == 0) [[likely]]
      return item;
    return settle(item);
  }

  /// Returns whether the slot shows `item`; a thief may have taken it. Owner only.
  [[nodiscard]] bool holds(const T* item) const noexcept {
    return m_item.load(std::memory_order_relaxed) == item;
  }

  /// Returns whether the slot seems to hold an item to take. Any thread.
  [[nodiscard]] bool occupied() const noexcept {
    return m_item.load(std::memory_order_relaxed) != nullptr &&
           (m_claim.load(std::memory_order_relaxed) & taken) == 0;
  }

  /// Takes the item, or returns null. Any thread but the owner. `barrier()` executes a full fence
  /// in every thread of the process; false: it could not.
  template <class Barrier>
  [[nodiscard]] T* steal(Barrier barrier) noexcept {
    T* item = m_item.load(std::memory_order_relaxed);
    word expected = 0;
    if (item == nullptr || !m_claim.compare_exchange_strong(expected, word_of(item) | claimed,
                                                            std::memory_order_seq_cst))
      return nullptr;
    expected = word_of(item) | claimed;
    const bool fenced = barrier();
    // Acquire pairs with `put`. If the owner has put the same item again meanwhile, the thief may
    // take that one, too.
    const bool there = fenced && m_item.load(std::memory_order_acquire) == item;
    const word settled = there ? word_of(item) | taken : 0;
    if (m_claim.compare_exchange_strong(expected, settled, std::memory_order_acq_rel))
      return there ? item : nullptr;
    m_claim.store(0, std::memory_order_release);  // the owner has kept the item
    return nullptr;
  }

 private:
  using word = std::uintptr_t;
  static constexpr word claimed = 1;
  static constexpr word taken = 2;
  static_assert(alignof(T) >= 4, "two bits of its address are needed");
  static word word_of(const T* item) noexcept { return reinterpret_cast<word>(item); }

  /// Decides between the owner and an active thief. Returns `item`, or null if the thief has it.
  [[gnu::noinline]] T* settle(T* item) noexcept {
    word seen = word_of(item) | claimed;
    if (m_claim.compare_exchange_strong(seen, word_of(item), std::memory_order_acq_rel))
      return item;
    // Otherwise the claim has ended, or is of an earlier item.
    if (seen != (word_of(item) | taken)) return item;
    m_claim.store(0, std::memory_order_release);
    return nullptr;
  }

  Atomic<T*> m_item{nullptr};           // written by the owner only
  alignas(64) Atomic<word> m_claim{0};  // set by a thief, cleared as described above
};

}  // namespace starling::detail
