// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include <starling/core/detail/promise_base.hpp>

namespace starling::detail {

/// A waiter other than a coroutine: a join, a race, a shared state. `notify` runs on the completing
/// thread and must only make coroutines ready.
struct callback {
  void (*notify)(callback&) noexcept = nullptr;
};

/// One-to-one hand-over between the producer of a result and its single consumer.
///
/// The slot holds one word:
///   pending    no waiter, no result yet
///   ready      the result is stored; a thread that acquires this value sees it
///   abandoned  the consumer is gone; the producer frees the state
///   otherwise  a waiting coroutine (promise_base*), or a callback* with the low bit set
/// The producer sets `ready` once, with an exchange, or with a store if the word it has read cannot
/// change any more. The consumer subscribes and withdraws with compare-and-swap and abandons with
/// an exchange. So exactly one side reads the word of the opposite side and acts on it.
class state_base {
 public:
  using word = std::uintptr_t;
  static constexpr word pending = 0;
  static constexpr word ready_word = 2;
  static constexpr word abandoned = 4;
  static constexpr word callback_bit = 1;

  /// Returns whether the result is stored. Acquire: if true, the result is visible.
  [[nodiscard]] bool is_ready() const noexcept {
    return m_slot.load(std::memory_order_acquire) == ready_word;
  }

  /// Registers `coroutine` to be resumed at completion. False: the result is ready already.
  [[nodiscard]] bool subscribe(promise_base& coroutine) noexcept {
    return install(reinterpret_cast<word>(&coroutine));
  }
  [[nodiscard]] bool subscribe(callback& c) noexcept {
    return install(reinterpret_cast<word>(&c) | callback_bit);
  }

  /// Withdraws a subscription. False: the producer has read it already.
  [[nodiscard]] bool withdraw(const void* subscriber) noexcept {
    word seen = m_slot.load(std::memory_order_relaxed);
    if ((seen & ~callback_bit) != reinterpret_cast<word>(subscriber)) return false;
    return m_slot.compare_exchange_strong(seen, pending, std::memory_order_acquire);
  }

  /// Gives up the consumer's end. The consumer must not have read `ready`. True: the caller frees
  /// the state.
  [[nodiscard]] bool abandon() noexcept {
    // Acquire: if the producer was first, its last writes precede the freeing of the state.
    return m_slot.exchange(abandoned, std::memory_order_acq_rel) == ready_word;
  }

  /// Publishes the result (release) and returns the slot's previous word (acquire). Producer only.
  [[nodiscard]] word publish() noexcept {
    return m_slot.exchange(ready_word, std::memory_order_acq_rel);
  }

  /// As above on a worker, without an exchange if a coroutine waits or the consumer has abandoned
  /// the state. These words do not change: only the hang diagnosis withdraws a coroutine, while all
  /// workers of the process are asleep, and a worker that wakes waits until the diagnosis is over.
  [[nodiscard]] word publish_on_worker() noexcept {
    const word seen = m_slot.load(std::memory_order_acquire);
    if (seen == pending || (seen & callback_bit) != 0) return publish();
    m_slot.store(ready_word, std::memory_order_release);
    return seen;
  }

  /// Returns the subscribed callback; null if there is none. For the holder of a producer.
  [[nodiscard]] callback* subscribed_callback() const noexcept {
    const word w = m_slot.load(std::memory_order_relaxed);
    return (w & callback_bit) != 0 ? &as_callback(w) : nullptr;
  }

  /// Sets the parent of a child coroutine as its only consumer. Called before the child starts, so
  /// the slot is never contended.
  void set_parent(promise_base& parent) noexcept {
    m_slot.store(reinterpret_cast<word>(&parent), std::memory_order_relaxed);
  }
  [[nodiscard]] promise_base& parent() const noexcept {
    return *reinterpret_cast<promise_base*>(m_slot.load(std::memory_order_relaxed));
  }
  /// Marks the result of a child coroutine as ready; its parent is resumed afterwards.
  void set_ready() noexcept { m_slot.store(ready_word, std::memory_order_relaxed); }
  void start_abandoned() noexcept { m_slot.store(abandoned, std::memory_order_relaxed); }

  [[nodiscard]] static promise_base* as_coroutine(word w) noexcept {
    return (w & callback_bit) == 0 ? reinterpret_cast<promise_base*>(w) : nullptr;
  }
  [[nodiscard]] static callback& as_callback(word w) noexcept {
    return *reinterpret_cast<callback*>(w & ~callback_bit);
  }

 private:
  [[nodiscard]] bool install(word w) noexcept {
    word expected = pending;
    // Release: the producer that reads `w` sees the waiter's data. Acquire on failure: the result.
    return m_slot.compare_exchange_strong(expected, w, std::memory_order_acq_rel,
                                          std::memory_order_acquire);
  }

  std::atomic<word> m_slot{pending};
};

/// Storage of a value, or of the exception in its place. The owner destroys the content (`clear`),
/// so that the storage may be part of a coroutine's promise and outlive the coroutine.
template <class T>
class result_storage {
  using stored = std::conditional_t<std::is_reference_v<T>, std::remove_reference_t<T>*,
                                    std::conditional_t<std::is_void_v<T>, char, T>>;

 public:
  result_storage() noexcept {}
  result_storage(const result_storage&) = delete;
  result_storage& operator=(const result_storage&) = delete;

  template <class... Args>
  void set_value(Args&&... args) {
    if constexpr (std::is_reference_v<T>)
      new (m_bytes) stored(std::addressof(args)...);
    else
      new (m_bytes) stored(std::forward<Args>(args)...);
    m_held = held::value;
  }
  /// Stores an error. It may replace a value: a local's destructor may throw after `co_return`.
  void set_error(std::exception_ptr error) noexcept {
    clear();
    new (m_bytes) std::exception_ptr(std::move(error));
    m_held = held::error;
  }

  [[nodiscard]] bool has_error() const noexcept { return m_held == held::error; }
  [[nodiscard]] const std::exception_ptr& error() const noexcept {
    return as<std::exception_ptr>();
  }

  /// Moves the value out, or rethrows.
  T take() {
    if (m_held == held::error) [[unlikely]]
      std::rethrow_exception(error());
    if constexpr (std::is_reference_v<T>)
      return static_cast<T>(*as<stored>());
    else if constexpr (!std::is_void_v<T>)
      return std::move(as<stored>());
  }

  /// Returns the value by reference, or rethrows. For results with several consumers.
  [[nodiscard]] std::add_lvalue_reference_t<const T> peek() const {
    if (m_held == held::error) [[unlikely]]
      std::rethrow_exception(error());
    if constexpr (std::is_reference_v<T>)
      return *as<stored>();
    else if constexpr (!std::is_void_v<T>)
      return as<stored>();
  }

  /// Destroys the content, if any.
  void clear() noexcept {
    const held before = std::exchange(m_held, held::nothing);
    if (before == held::value) std::destroy_at(&as<stored>());
    if (before == held::error) std::destroy_at(&as<std::exception_ptr>());
  }

 private:
  enum class held : std::uint8_t { nothing, value, error };
  template <class U>
  [[nodiscard]] U& as() noexcept {
    return *std::launder(reinterpret_cast<U*>(m_bytes));
  }
  template <class U>
  [[nodiscard]] const U& as() const noexcept {
    return *std::launder(reinterpret_cast<const U*>(m_bytes));
  }

  alignas(stored) alignas(
      std::exception_ptr) std::byte m_bytes[std::max(sizeof(stored), sizeof(std::exception_ptr))];
  held m_held = held::nothing;
};

/// Result storage that destroys its content in the destructor.
template <class T>
class owned_result : public result_storage<T> {
 public:
  ~owned_result() { this->clear(); }
};

/// A result that is passed from one producer to one consumer. Stored in the block of a coroutine's
/// frame, also after the coroutine's end, or in a separate block.
template <class T>
class state : public state_base {
 public:
  /// Destroys the result and frees the block; of a coroutine, only after its end.
  void destroy() noexcept;

  [[no_unique_address]] result_storage<T> result;
  bool in_frame = false;
};

/// A state in a separate block, with a function that frees the block.
template <class T>
class block_state : public state<T> {
 public:
  ~block_state() { this->result.clear(); }

  void (*free)(block_state&) noexcept = nullptr;
};

}  // namespace starling::detail
