// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

namespace starling::detail {

/// Room for one item in front of a work-stealing deque: the owner puts and takes without a fence or
/// a read-modify-write, a thief pays for both sides with a process-wide memory barrier.
///
/// The owner empties the slot, then looks at the claim; a thief claims, lets the barrier make every
/// thread pass a full fence, then looks at the slot. So the owner sees the claim or the thief sees
/// the slot empty, and where both see each other the claim's word decides (Dekker 1965; Dice et
/// al., "Asymmetric Dekker Synchronization", 2001). The claim's states:
///   0               nobody is stealing
///   item | claimed  a thief is about to take `item`; it or the owner, whoever is first, changes it
///   item | taken    a thief has `item`, though the slot still shows it; the owner clears both
///   item            the owner kept `item`; the thief that claimed it has yet to notice and clears
/// A claim that fails ends with its thief, never with the owner: were the word free while the thief
/// is under way, a second claim of the same item would look like the first one's.
/// `Atomic` is for tests, which put the accesses in an order of their own.
template <class T, template <class> class Atomic = std::atomic>
class lifo_slot {
 public:
  lifo_slot() = default;
  lifo_slot(const lifo_slot&) = delete;
  lifo_slot& operator=(const lifo_slot&) = delete;

  /// Owner only; the slot must be empty, that is `take` was called.
  void put(T& item) noexcept {
    // Release: a thief that reads the item sees what it contains.
    m_item.store(&item, std::memory_order_release);
  }

  /// Owner only: the item, or null.
  [[nodiscard]] T* take() noexcept {
    T* item = m_item.load(std::memory_order_relaxed);
    if (item == nullptr) return nullptr;
    m_item.store(nullptr, std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);  // the rest is up to a thief's barrier
    if (m_claim.load(std::memory_order_relaxed) == 0) [[likely]]
      return item;
    return settle(item);
  }

  /// Owner only: whether `item` lies here, unless a thief has it.
  [[nodiscard]] bool holds(const T* item) const noexcept {
    return m_item.load(std::memory_order_relaxed) == item;
  }

  /// Any thread: whether there seems to be something to take.
  [[nodiscard]] bool occupied() const noexcept {
    return m_item.load(std::memory_order_relaxed) != nullptr &&
           (m_claim.load(std::memory_order_relaxed) & taken) == 0;
  }

  /// Any thread but the owner: the item, or null. `barrier()` makes every thread of the process
  /// pass a full fence; false means that it could not.
  template <class Barrier>
  [[nodiscard]] T* steal(Barrier barrier) noexcept {
    T* item = m_item.load(std::memory_order_relaxed);
    word expected = 0;
    if (item == nullptr || !m_claim.compare_exchange_strong(expected, word_of(item) | claimed,
                                                            std::memory_order_seq_cst))
      return nullptr;
    expected = word_of(item) | claimed;
    const bool fenced = barrier();
    // Acquire pairs with `put`. Should the same item have come back meanwhile, it is as good.
    const bool there = fenced && m_item.load(std::memory_order_acquire) == item;
    const word outcome = there ? word_of(item) | taken : 0;
    if (m_claim.compare_exchange_strong(expected, outcome, std::memory_order_acq_rel))
      return there ? item : nullptr;
    m_claim.store(0, std::memory_order_release);  // the owner was first
    return nullptr;
  }

 private:
  using word = std::uintptr_t;
  static constexpr word claimed = 1;
  static constexpr word taken = 2;
  static_assert(alignof(T) >= 4, "two bits of its address are needed");
  static word word_of(const T* item) noexcept { return reinterpret_cast<word>(item); }

  /// A thief is at work: whose is `item`?
  [[gnu::noinline]] T* settle(T* item) noexcept {
    word seen = word_of(item) | claimed;
    if (m_claim.compare_exchange_strong(seen, word_of(item), std::memory_order_acq_rel))
      return item;
    if (seen != (word_of(item) | taken)) return item;  // a claim that ended, or of what was before
    m_claim.store(0, std::memory_order_release);
    return nullptr;
  }

  Atomic<T*> m_item{nullptr};           // written by the owner only
  alignas(64) Atomic<word> m_claim{0};  // begun by a thief, ended as said above
};

}  // namespace starling::detail
