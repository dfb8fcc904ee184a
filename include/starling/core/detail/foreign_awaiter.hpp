// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <coroutine>
#include <type_traits>
#include <utility>

#include <starling/core/detail/promise_base.hpp>
#include <starling/core/detail/worker.hpp>

namespace starling::detail {

/// Returns the awaiter of `a`: the object on which `co_await` calls await_ready and await_suspend.
template <class Awaitable>
decltype(auto) awaiter_of(Awaitable&& a) {
  if constexpr (requires { std::forward<Awaitable>(a).operator co_await(); })
    return std::forward<Awaitable>(a).operator co_await();
  else if constexpr (requires { operator co_await(std::forward<Awaitable>(a)); })
    return operator co_await(std::forward<Awaitable>(a));
  else
    return std::forward<Awaitable>(a);
}

/// An awaitable of another library: it accepts the handle of any coroutine. Awaitables of the
/// runtime require a `runtime_promise`.
template <class Awaitable>
concept foreign_awaitable = requires(decltype(awaiter_of(std::declval<Awaitable>())) a) {
  a.await_suspend(std::coroutine_handle<>());
};

/// Awaits an awaitable of another library, which may resume its argument on any thread. The
/// awaitable gets this object in place of the coroutine's frame. When it resumes this object, the
/// coroutine continues in that call if the calling thread may run it; else it is made ready on a
/// worker of its runtime, or on its home worker if it is pinned.
///
/// The object begins with the layout of a coroutine's frame: the resume function, then the destroy
/// function.
template <class Awaitable>
class foreign_awaiter {
 public:
  explicit foreign_awaiter(Awaitable&& a) : m_awaiter(awaiter_of(std::forward<Awaitable>(a))) {}
  foreign_awaiter(const foreign_awaiter&) = delete;
  foreign_awaiter& operator=(const foreign_awaiter&) = delete;

  bool await_ready() { return static_cast<bool>(m_awaiter.await_ready()); }

  template <runtime_promise Promise>
  std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> h,
                                        const detail::call_location& at = {}) {
    promise_base& c = h.promise();
    m_waiting = &c;
    mark_suspended(c, await_kind::custom, nullptr, nullptr, at);
    const auto here = std::coroutine_handle<>::from_address(this);
    std::coroutine_handle<> next = std::noop_coroutine();
    try {
      // After the call, the coroutine and this object may be destroyed, unless it does not suspend.
      using result = decltype(m_awaiter.await_suspend(here));
      if constexpr (std::is_void_v<result>)
        m_awaiter.await_suspend(here);
      else if constexpr (std::same_as<result, bool>)
        next = m_awaiter.await_suspend(here) ? next : here;
      else
        next = m_awaiter.await_suspend(here);
    } catch (...) {
      forget_wait(c);
      throw;
    }
    if (next.address() != here.address()) return next;
    forget_wait(c);
    return h;
  }

  decltype(auto) await_resume() { return m_awaiter.await_resume(); }

 private:
  static void resume(void* self) noexcept {
    resume_on_worker(*static_cast<foreign_awaiter*>(self)->m_waiting);
  }
  static void destroy(void* self) noexcept {
    static_cast<foreign_awaiter*>(self)->m_waiting->handle().destroy();
  }

  [[maybe_unused]] void (*m_resume)(void*) noexcept = &resume;
  [[maybe_unused]] void (*m_destroy)(void*) noexcept = &destroy;
  promise_base* m_waiting = nullptr;
  decltype(awaiter_of(std::declval<Awaitable>())) m_awaiter;
};

/// Reference to an awaiter: g++ 12 copies an awaiter that await_transform returns by reference.
template <class Awaiter>
class awaiter_reference {
 public:
  explicit awaiter_reference(Awaiter& a) noexcept : m_awaiter(&a) {}
  auto await_ready() { return m_awaiter->await_ready(); }
  template <runtime_promise Promise>
  auto await_suspend(std::coroutine_handle<Promise> h, const detail::call_location& at = {}) {
    if constexpr (requires { m_awaiter->await_suspend(h, at); })
      return m_awaiter->await_suspend(h, at);
    else
      return m_awaiter->await_suspend(h);
  }
  decltype(auto) await_resume() { return m_awaiter->await_resume(); }

 private:
  Awaiter* m_awaiter;
};

/// Returns the awaiter that a task's `co_await` uses for `a`.
template <class Awaitable>
auto transform_await(Awaitable&& a) {
  if constexpr (foreign_awaitable<Awaitable>) {
    return foreign_awaiter<Awaitable>(std::forward<Awaitable>(a));
  } else if constexpr (std::is_reference_v<decltype(awaiter_of(std::forward<Awaitable>(a)))>) {
    auto&& there = awaiter_of(std::forward<Awaitable>(a));
    return awaiter_reference(there);
  } else {
    return awaiter_of(std::forward<Awaitable>(a));
  }
}

}  // namespace starling::detail
