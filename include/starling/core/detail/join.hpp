// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <coroutine>
#include <cstddef>
#include <span>

#include <starling/core/future.hpp>

namespace starling::detail {

/// Waits until every input is ready, with one subscription at a time: to the first input that is
/// not ready, and after its completion to the next such input. Needs no counter and, for inputs
/// that completed meanwhile, no atomic read-modify-write.
class join_awaiter final : public callback {
 public:
  explicit join_awaiter(std::span<state_base* const> inputs) noexcept : m_inputs(inputs) {
    notify = [](callback& c) noexcept {
      auto& self = static_cast<join_awaiter&>(c);
      promise_base& waiting = *self.m_waiting;  // read before advance() lets the frame end
      if (self.advance(self.m_next.load(std::memory_order_relaxed) + 1)) schedule(waiting);
    };
  }

  bool await_ready() noexcept {
    std::size_t i = 0;
    while (i < m_inputs.size() && m_inputs[i]->is_ready()) ++i;
    m_next.store(i, std::memory_order_relaxed);
    return i == m_inputs.size();
  }

  template <runtime_promise Promise>
  bool await_suspend(std::coroutine_handle<Promise> h,
                     const detail::call_location& at = {}) noexcept {
    m_waiting = &h.promise();
    mark_suspended(h.promise(), await_kind::join, this, &withdraw_waiter, at);
    return confirm_suspended(h.promise(), !advance(m_next.load(std::memory_order_relaxed)));
  }

  void await_resume() {
    if (m_withdrawn) [[unlikely]]
      throw_interrupted();
  }

 private:
  /// Subscribes to the next input, from index `i` on, that is not ready. True: all are ready.
  /// False: another thread may already run `notify`, and this object may be destroyed.
  bool advance(std::size_t i) noexcept {
    for (; i < m_inputs.size(); ++i) {
      if (m_inputs[i]->is_ready()) continue;
      m_next.store(i, std::memory_order_relaxed);
      if (m_inputs[i]->subscribe(*this)) return false;
    }
    return true;
  }

  static bool withdraw_waiter(promise_base& c) noexcept {
    auto& self = awaited_object<join_awaiter>(c);
    const std::size_t next = self.m_next.load(std::memory_order_relaxed);
    if (!self.m_inputs[next]->withdraw(static_cast<callback*>(&self))) return false;
    return self.m_withdrawn = true;
  }

  std::span<state_base* const> m_inputs;
  // Index of the input subscribed to. Accessed by the thread that advances; atomic because the hang
  // diagnosis reads it, too: with a stale value it only fails to withdraw the wait.
  std::atomic<std::size_t> m_next{0};
  promise_base* m_waiting = nullptr;
  bool m_withdrawn = false;
};

}  // namespace starling::detail
