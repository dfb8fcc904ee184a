// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <stop_token>
#include <utility>

#include <starling/core/detail/biased_lock.hpp>
#include <starling/core/detail/stoppable.hpp>
#include <starling/core/detail/value_ring.hpp>
#include <starling/core/future.hpp>

namespace starling {
/// A queue between tasks: many senders, many receivers, first in first out, bounded or not.
///
/// `co_await c.send(v)` suspends while a bounded channel is full; `co_await c.receive()` suspends
/// while it is empty and yields an empty optional once it is closed and drained. A value is moved
/// directly to a waiting receiver. Threads outside the runtime use `try_send`, `try_receive`,
/// `close`. With a stop token, a wait that is cut short throws `operation_cancelled`, and no value
/// is sent or taken; an operation that need not wait completes even if a stop was requested. The
/// channel must outlive all its waiters. Moving a T must not throw. Thread-safe.
template <class T>
class channel {
 public:
  using value_type = T;
  static constexpr std::size_t unbounded = std::numeric_limits<std::size_t>::max();

  /// Constructs an empty channel. `capacity` 0: a send completes when a receiver takes the value.
  explicit channel(std::size_t capacity = unbounded) noexcept : m_capacity(capacity) {}
  channel(const channel&) = delete;
  channel& operator=(const channel&) = delete;

  class send_awaiter;
  class receive_awaiter;

  /// Sends `value`. The await throws `channel_closed` if the channel is or gets closed.
  [[nodiscard]] send_awaiter send(T value) { return send_awaiter(*this, std::move(value)); }
  /// Receives a value. The await yields std::optional<T>.
  [[nodiscard]] receive_awaiter receive() noexcept { return receive_awaiter(*this); }

  /// As above; a wait throws `operation_cancelled` once `stop` is requested.
  [[nodiscard]] detail::stoppable<send_awaiter> send(T value, std::stop_token stop) {
    return detail::stoppable<send_awaiter>(std::move(stop), *this, std::move(value));
  }
  [[nodiscard]] detail::stoppable<receive_awaiter> receive(std::stop_token stop) {
    return detail::stoppable<receive_awaiter>(std::move(stop), *this);
  }

  /// Sends without waiting. False if full; `value` is then unchanged. @throws channel_closed
  [[nodiscard]] bool try_send(T&& value) {
    detail::promise_base* receiver = nullptr;
    {
      const detail::biased_lock::guard lock(m_lock);
      if (m_closed) throw channel_closed();
      if (!deliver(value, receiver)) return false;
    }
    if (receiver != nullptr) detail::schedule(*receiver);
    return true;
  }

  [[nodiscard]] bool try_send(const T& value) requires std::copy_constructible<T> {
    return try_send(T(value));
  }

  /// Takes a value without waiting; returns an empty optional if there is none.
  [[nodiscard]] std::optional<T> try_receive() {
    detail::promise_base* sender = nullptr;
    std::optional<T> value;
    {
      const detail::biased_lock::guard lock(m_lock);
      take(value, sender);
    }
    if (sender != nullptr) detail::schedule(*sender);
    return value;
  }

  /// Closes the channel: waiting senders throw `channel_closed`, receivers drain stored values.
  void close() noexcept {
    detail::ready_list ready;
    {
      const detail::biased_lock::guard lock(m_lock);
      m_closed = true;
      const auto end_waits = [&ready](auto& waiters) {
        while (auto* w = waiters.pop()) {
          w->m_status = wait_status::closed;
          ready.push(*w->m_waiting);
        }
      };
      end_waits(m_senders);
      end_waits(m_receivers);
    }
    while (detail::promise_base* c = ready.pop()) detail::schedule(*c);
  }

  [[nodiscard]] bool is_closed() const noexcept {
    const detail::biased_lock::guard lock(m_lock);
    return m_closed;
  }
  /// Returns the number of stored values.
  [[nodiscard]] std::size_t size() const noexcept {
    const detail::biased_lock::guard lock(m_lock);
    return m_values.size();
  }

 private:
  /// Outcome of a send or a receive; guarded by m_lock while its coroutine is suspended.
  enum class wait_status : std::uint8_t { waiting, done, closed, cancelled };

  /// A send (of a T) or a receive (of a std::optional<T>), in the frame of its coroutine.
  template <class Value>
  struct operation {
    bool await_ready() const noexcept { return false; }
    /// Ends the wait with `operation_cancelled`, or prevents it if it has not begun yet. Any
    /// thread, see detail::stoppable.
    void cancel() noexcept {
      {
        const detail::biased_lock::guard lock(m_channel.m_lock);
        m_stopped = true;
        if (!m_channel.template waiters<Value>().remove(m_waiting)) return;
        m_status = wait_status::cancelled;
      }
      detail::schedule(*m_waiting);
    }
    /// Begins the wait of `c`. False: a stop was requested. Requires m_lock.
    bool begin_wait(detail::promise_base& c, const detail::call_location& at) {
      if (m_stopped) {
        m_status = wait_status::cancelled;
        return false;
      }
      m_waiting = &c;
      detail::mark_suspended(c, await_kind::channel, &m_channel, &withdraw_waiter<Value>, at);
      m_channel.template waiters<Value>().push(*this);
      return true;
    }

    channel& m_channel;
    Value m_value{};
    detail::promise_base* m_waiting = nullptr;
    operation* m_next = nullptr;
    wait_status m_status = wait_status::waiting;
    bool m_stopped = false;  // a stop was requested, before or during the wait; guarded by m_lock
  };

  /// Waiters in order of arrival, linked through the awaiters in their frames.
  template <class Value>
  struct queue {
    operation<Value>* head = nullptr;
    operation<Value>** tail = &head;
    void push(operation<Value>& a) noexcept {
      a.m_next = nullptr;
      *tail = &a;
      tail = &a.m_next;
    }
    [[nodiscard]] operation<Value>* pop() noexcept {
      operation<Value>* first = head;
      if (first == nullptr) return nullptr;
      head = first->m_next;
      if (head == nullptr) tail = &head;
      return first;
    }
    /// Removes the awaiter of `waiting`; false if it is not queued.
    [[nodiscard]] bool remove(const detail::promise_base* waiting) noexcept {
      for (operation<Value>** link = &head; *link != nullptr; link = &(*link)->m_next)
        if ((*link)->m_waiting == waiting) {
          *link = (*link)->m_next;
          if (*link == nullptr) tail = link;
          return true;
        }
      return false;
    }
  };

  template <class Value>
  [[nodiscard]] queue<Value>& waiters() noexcept {
    if constexpr (std::same_as<Value, T>)
      return m_senders;
    else
      return m_receivers;
  }

  /// Moves `value` to a waiting receiver or stores it. False: there is no room. Requires m_lock.
  bool deliver(T& value, detail::promise_base*& receiver) {
    if (operation<std::optional<T>>* r = m_receivers.pop()) {
      r->m_value.emplace(std::move(value));
      r->m_status = wait_status::done;
      receiver = r->m_waiting;
      return true;
    }
    if (m_values.size() >= m_capacity) return false;
    m_values.push(std::move(value));
    return true;
  }

  /// Moves the oldest value, if any, into the empty `value` and completes the oldest waiting send.
  /// Requires m_lock.
  void take(std::optional<T>& value, detail::promise_base*& sender) {
    if (!m_values.empty()) value.emplace(m_values.pop());
    if (operation<T>* s = m_senders.pop()) {
      if (value)
        m_values.push(std::move(s->m_value));
      else
        value.emplace(std::move(s->m_value));
      s->m_status = wait_status::done;
      sender = s->m_waiting;
    }
  }

  /// Withdraws the waiter `c` from the channel that it awaits, see detail::withdraw_fn.
  template <class Value>
  static bool withdraw_waiter(detail::promise_base& c) noexcept {
    auto& self = detail::awaited_object<channel>(c);
    const detail::biased_lock::guard lock(self.m_lock);
    return self.template waiters<Value>().remove(&c);
  }

  const std::size_t m_capacity;
  mutable detail::biased_lock m_lock;
  bool m_closed = false;
  detail::value_ring<T> m_values;
  queue<T> m_senders;
  queue<std::optional<T>> m_receivers;
};

template <class T>
class channel<T>::send_awaiter : operation<T> {
  using operation<T>::m_channel, operation<T>::m_value, operation<T>::m_status;

 public:
  using operation<T>::await_ready, operation<T>::cancel;
  send_awaiter(channel& target, T value) : operation<T>{target, std::move(value)} {}

  template <detail::runtime_promise Promise>
  bool await_suspend(std::coroutine_handle<Promise> h, const detail::call_location& at = {}) {
    detail::promise_base* receiver = nullptr;
    {
      const detail::biased_lock::guard lock(m_channel.m_lock);
      if (m_channel.m_closed)
        m_status = wait_status::closed;
      else if (m_channel.deliver(m_value, receiver))
        m_status = wait_status::done;
      else if (this->begin_wait(h.promise(), at))
        return true;
    }
    if (receiver != nullptr) detail::schedule(*receiver);
    return false;
  }

  void await_resume() const {
    if (m_status == wait_status::done) [[likely]]
      return;
    if (m_status == wait_status::closed) throw channel_closed();
    if (m_status == wait_status::cancelled) throw operation_cancelled();
    detail::throw_interrupted();
  }
};

template <class T>
class channel<T>::receive_awaiter : operation<std::optional<T>> {
  using base = operation<std::optional<T>>;
  using base::m_channel, base::m_value, base::m_status;

 public:
  using base::await_ready, base::cancel;
  explicit receive_awaiter(channel& source) noexcept : base{source} {}

  template <detail::runtime_promise Promise>
  bool await_suspend(std::coroutine_handle<Promise> h, const detail::call_location& at = {}) {
    detail::promise_base* sender = nullptr;
    {
      const detail::biased_lock::guard lock(m_channel.m_lock);
      m_channel.take(m_value, sender);
      if (m_value)
        m_status = wait_status::done;
      else if (m_channel.m_closed)
        m_status = wait_status::closed;
      else if (this->begin_wait(h.promise(), at))
        return true;
    }
    if (sender != nullptr) detail::schedule(*sender);
    return false;
  }

  std::optional<T> await_resume() {
    if (m_status == wait_status::cancelled) throw operation_cancelled();
    if (m_status == wait_status::waiting) detail::throw_interrupted();
    return std::move(m_value);
  }
};

}  // namespace starling
