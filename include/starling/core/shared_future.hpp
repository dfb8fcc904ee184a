// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <coroutine>
#include <mutex>
#include <utility>

#include <starling/core/detail/counted.hpp>
#include <starling/core/detail/spin_lock.hpp>
#include <starling/core/future.hpp>

namespace starling {
namespace detail {

/// State of a shared_future: one subscription to the inner state, and a list of waiters.
template <class T>
class shared_state final : public callback, public counted, public pooled<block_kind::state> {
 public:
  struct waiter {
    promise_base* coroutine = nullptr;
    waiter* next = nullptr;
  };

  explicit shared_state(consumer_end<T> inner) noexcept : m_inner(std::move(inner)) {
    notify = [](callback& c) noexcept {
      auto& self = static_cast<shared_state&>(c);
      const counted_owner kept = std::move(self.m_subscription);
      self.release_waiters();
    };
  }
  /// Subscribes to the inner state. Called once, by an owner.
  void subscribe() noexcept {
    m_subscription = counted_owner(this);
    if (!m_inner->subscribe(*this)) notify(*this);
  }

  [[nodiscard]] bool is_ready() const noexcept { return m_inner->is_ready(); }
  [[nodiscard]] decltype(auto) peek() const { return m_inner->result.peek(); }

  /// Adds a waiter. False: the result has arrived, the caller must not suspend.
  [[nodiscard]] bool add(waiter& w) noexcept {
    std::lock_guard lock(m_lock);
    if (m_inner->is_ready()) return false;
    *m_tail = &w;
    m_tail = &w.next;
    return true;
  }

  /// Withdraws the waiter `c`, see withdraw_fn.
  static bool withdraw_waiter(promise_base& c) noexcept {
    return awaited_object<shared_state>(c).remove(c);
  }

 private:
  void release_waiters() noexcept {
    waiter* list = nullptr;
    {
      std::lock_guard lock(m_lock);
      list = std::exchange(m_head, nullptr);
      m_tail = &m_head;
    }
    while (list != nullptr) {
      waiter* w = std::exchange(list, list->next);  // read before the waiter's frame may end
      schedule(*w->coroutine);
    }
  }

  [[nodiscard]] bool remove(const promise_base& c) noexcept {
    std::lock_guard lock(m_lock);
    for (waiter** link = &m_head; *link != nullptr; link = &(*link)->next)
      if ((*link)->coroutine == &c) {
        *link = (*link)->next;
        if (*link == nullptr) m_tail = link;
        return true;
      }
    return false;
  }

  consumer_end<T> m_inner;
  counted_owner m_subscription;  // keeps this object until the inner result arrives
  spin_lock m_lock;              // guards the list of waiters
  waiter* m_head = nullptr;
  waiter** m_tail = &m_head;
};

template <class T>
class shared_awaiter {
 public:
  using state_type = shared_state<T>;
  /// Holds a reference only if it has to wait: a ready result is kept alive by `source`.
  explicit shared_awaiter(const shared_future<T>& source) noexcept : m_state(source.state()) {
    if (!m_state->is_ready()) m_source = source;
  }

  bool await_ready() const noexcept { return m_state->is_ready(); }

  template <runtime_promise Promise>
  bool await_suspend(std::coroutine_handle<Promise> h,
                     const detail::call_location& at = {}) noexcept {
    m_waiter = {&h.promise(), nullptr};
    mark_suspended(h.promise(), await_kind::future, m_state, &state_type::withdraw_waiter, at);
    return confirm_suspended(h.promise(), m_state->add(m_waiter));
  }

  std::add_lvalue_reference_t<const T> await_resume() const {
    if (!m_state->is_ready()) throw_interrupted();
    return m_state->peek();
  }

 private:
  state_type* m_state;
  shared_future<T> m_source;
  typename state_type::waiter m_waiter{};
};

}  // namespace detail

/// A result with any number of consumers. Copies share the result and may be used on any thread.
///
/// `co_await f` yields `const T&`, valid while any copy exists, or rethrows the stored error.
template <class T>
class [[nodiscard]] shared_future {
 public:
  using value_type = T;
  shared_future() noexcept = default;
  explicit shared_future(detail::shared_state<T>* s) noexcept : m_state(s) {}

  [[nodiscard]] bool valid() const noexcept { return m_state != nullptr; }
  [[nodiscard]] bool is_ready() const noexcept { return valid() && m_state->is_ready(); }

  detail::shared_awaiter<T> operator co_await() const {
    if (!valid()) throw usage_error("await of an empty shared_future");
    return detail::shared_awaiter<T>(*this);
  }

  [[nodiscard]] detail::shared_state<T>* state() const noexcept { return m_state.get(); }

 private:
  detail::counted_ptr<detail::shared_state<T>> m_state;
};

template <class T>
shared_future<T> future<T>::share() && {
  if (!valid()) throw usage_error("share of a future that was already consumed or moved from");
  shared_future<T> shared(new detail::shared_state<T>(std::move(m_end)));
  shared.state()->subscribe();
  return shared;
}

}  // namespace starling
