// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <coroutine>
#include <optional>
#include <stop_token>
#include <utility>

#include <starling/core/detail/promise_base.hpp>

namespace starling::detail {

/// What a stop token calls: ends the wait of `target`.
template <class Target>
struct canceller {
  Target* target;
  void operator()() const noexcept { target->cancel(); }
};

/// Awaiter whose wait a stop token may end.
///
/// `Base::cancel()` may be called on any thread from before `await_suspend` until `await_resume`,
/// also several times and while the wait ends by itself. It must decide under the lock of the
/// awaited object which thread resumes the coroutine, and record a call before the suspension.
template <class Base>
class stoppable {
 public:
  template <class... Args>
  explicit stoppable(std::stop_token stop, Args&&... args)
      : m_base(std::forward<Args>(args)...), m_stop(std::move(stop)) {}

  bool await_ready() const noexcept { return false; }

  template <runtime_promise Promise>
  bool await_suspend(std::coroutine_handle<Promise> h, const detail::call_location& at = {}) {
    m_on_stop.emplace(std::move(m_stop),
                      canceller<Base>{&m_base});  // cancels here if already stopped
    return m_base.await_suspend(h, at);           // once suspended, this object may be destroyed
  }

  decltype(auto) await_resume() {
    m_on_stop.reset();  // waits while `cancel` runs on another thread
    return m_base.await_resume();
  }

 private:
  Base m_base;
  std::stop_token m_stop;
  std::optional<std::stop_callback<canceller<Base>>> m_on_stop;
};

}  // namespace starling::detail
