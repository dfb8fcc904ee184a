// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <coroutine>
#include <cstdint>
#include <exception>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include <starling/core/detail/promise_base.hpp>

namespace starling::detail {

/// Something other than a coroutine that waits for a state: a join, a shared state. `notify` runs
/// on the completing thread and must only make coroutines ready.
struct callback {
  void (*notify)(callback&) noexcept = nullptr;
};

/// One-to-one hand-over between the producer of a result and its single consumer.
///
/// The slot holds one word:
///   pending    nobody waits, no result yet
///   ready      the result is stored and visible to whoever acquires this value
///   abandoned  the consumer is gone; the producer frees the state
///   otherwise  a waiting coroutine (promise_base*), or a callback* with the low bit set
/// The producer makes it `ready` once, with an exchange, or with a store where the word it has read
/// cannot change any more; the consumer subscribes and withdraws with compare-and-swap and abandons
/// with an exchange. So exactly one side sees the other's word and acts on it.
class state_base {
 public:
  using word = std::uintptr_t;
  static constexpr word pending = 0;
  static constexpr word ready_word = 2;
  static constexpr word abandoned = 4;
  static constexpr word callback_bit = 1;

  /// Acquires: a true answer makes the stored result visible.
  [[nodiscard]] bool is_ready() const noexcept {
    return m_slot.load(std::memory_order_acquire) == ready_word;
  }

  /// Leaves `coroutine` to be resumed at completion. False: the result is there already.
  [[nodiscard]] bool subscribe(promise_base& coroutine) noexcept {
    return install(reinterpret_cast<word>(&coroutine));
  }
  [[nodiscard]] bool subscribe(callback& c) noexcept {
    return install(reinterpret_cast<word>(&c) | callback_bit);
  }

  /// Takes a subscription back. False: the producer has claimed it already.
  [[nodiscard]] bool withdraw(const void* subscriber) noexcept {
    word seen = m_slot.load(std::memory_order_relaxed);
    if ((seen & ~callback_bit) != reinterpret_cast<word>(subscriber)) return false;
    return m_slot.compare_exchange_strong(seen, pending, std::memory_order_acquire);
  }

  /// Consumer side is done without having seen `ready`. True: the caller frees the state.
  [[nodiscard]] bool abandon() noexcept {
    // Acquire: if the producer was first, its last writes precede our freeing of the state.
    return m_slot.exchange(abandoned, std::memory_order_acq_rel) == ready_word;
  }

  /// Producer side: publishes the result (release) and returns what was there (acquire).
  [[nodiscard]] word publish() noexcept {
    return m_slot.exchange(ready_word, std::memory_order_acq_rel);
  }

  /// The same on a worker, without an exchange where a coroutine waits or the consumer has gone:
  /// such words stay, since only the hang diagnosis withdraws a coroutine, while all workers of the
  /// process rest and those that wake wait until it is done.
  [[nodiscard]] word publish_on_worker() noexcept {
    const word seen = m_slot.load(std::memory_order_acquire);
    if (seen == pending || (seen & callback_bit) != 0) return publish();
    m_slot.store(ready_word, std::memory_order_release);
    return seen;
  }

  /// A coroutine whose only consumer is its parent: known before it starts, so never contended.
  void set_parent(promise_base& parent) noexcept {
    m_slot.store(reinterpret_cast<word>(&parent), std::memory_order_relaxed);
  }
  [[nodiscard]] promise_base& parent() const noexcept {
    return *reinterpret_cast<promise_base*>(m_slot.load(std::memory_order_relaxed));
  }
  /// Makes the result of such a coroutine count as ready; its parent is resumed afterwards.
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
    // Release: the producer that takes `w` reads what we prepared. Acquire on failure: the result.
    return m_slot.compare_exchange_strong(expected, w, std::memory_order_acq_rel,
                                          std::memory_order_acquire);
  }

  std::atomic<word> m_slot{pending};
};

/// Storage of a value, or of the exception in its place.
template <class T>
class outcome {
  using stored = std::conditional_t<std::is_reference_v<T>, std::remove_reference_t<T>*,
                                    std::conditional_t<std::is_void_v<T>, char, T>>;

 public:
  outcome() noexcept {}
  outcome(const outcome&) = delete;
  outcome& operator=(const outcome&) = delete;
  ~outcome() { clear(); }

  template <class... Args>
  void set_value(Args&&... args) {
    if constexpr (std::is_reference_v<T>)
      new (std::addressof(m_value)) stored(std::addressof(args)...);
    else
      new (std::addressof(m_value)) stored(std::forward<Args>(args)...);
    m_held = held::value;
  }
  /// Also in place of a value: a local of a coroutine may throw after its `co_return`.
  void set_error(std::exception_ptr error) noexcept {
    clear();
    new (&m_error) std::exception_ptr(std::move(error));
    m_held = held::error;
  }

  [[nodiscard]] bool has_error() const noexcept { return m_held == held::error; }
  [[nodiscard]] const std::exception_ptr& error() const noexcept { return m_error; }

  /// Moves the value out, or rethrows.
  T take() {
    if (m_held == held::error) [[unlikely]]
      std::rethrow_exception(m_error);
    if constexpr (std::is_reference_v<T>)
      return static_cast<T>(*m_value);
    else if constexpr (!std::is_void_v<T>)
      return std::move(m_value);
  }

  /// Reads the value where it lies, or rethrows. For results with several consumers.
  [[nodiscard]] std::add_lvalue_reference_t<const T> peek() const {
    if (m_held == held::error) [[unlikely]]
      std::rethrow_exception(m_error);
    if constexpr (std::is_reference_v<T>)
      return *m_value;
    else if constexpr (!std::is_void_v<T>)
      return m_value;
  }

 private:
  enum class held : std::uint8_t { nothing, value, error };
  void clear() noexcept {
    if (m_held == held::value) m_value.~stored();
    if (m_held == held::error) m_error.~exception_ptr();
  }
  union {
    stored m_value;
    std::exception_ptr m_error;
  };
  held m_held = held::nothing;
};

/// A result on its way from one producer to one consumer. Lives in a spawned coroutine's frame or
/// in a block of its own.
template <class T>
class state : public state_base {
 public:
  /// Frees the frame or the block.
  void destroy() noexcept;

  [[no_unique_address]] outcome<T> result;
  bool in_frame = false;
};

/// A state that is no frame's and knows how to free itself.
template <class T>
class block_state : public state<T> {
 public:
  void (*free)(block_state&) noexcept = nullptr;
};

}  // namespace starling::detail
