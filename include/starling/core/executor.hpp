// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <coroutine>
#include <utility>

#include <starling/core/future.hpp>
#include <starling/core/task.hpp>
#include <starling/core/yield.hpp>

namespace starling {

/// The worker and the priority of work: any worker of a runtime, or one particular worker.
/// A small value, valid while its runtime exists. All members are thread-safe.
class executor {
  struct move_awaiter;

 public:
  executor(detail::worker& home, bool pinned, starling::priority priority) noexcept
      : m_home(&home), m_pinned(pinned), m_priority(priority) {}

  /// Starts `t` and returns its future, the only handle to it.
  template <class T>
  future<T> spawn(task<T> t) const {
    auto& p = std::move(t).release().promise();
    future<T> result = detail::make_spawned(p, *m_home, m_pinned, m_priority);
    detail::schedule(p);
    return result;
  }

  /// Starts `t` without a future. The runtime reports its exception, if any.
  template <class T>
  void post(task<T> t) const {
    auto& p = std::move(t).release().promise();
    detail::make_posted(p, *m_home, m_pinned, m_priority);
    detail::schedule(p);
  }

  /// Moves the calling coroutine to this executor: `co_await ex.schedule()`.
  [[nodiscard]] move_awaiter schedule() const noexcept;

  /// Returns the worker, or an arbitrary worker if any may run the work. For other modules.
  [[nodiscard]] detail::worker& home() const noexcept { return *m_home; }

  friend bool operator==(const executor&, const executor&) = default;

 private:
  detail::worker* m_home;
  bool m_pinned;
  priority m_priority;
};

struct executor::move_awaiter {
  executor target;
  bool await_ready() const noexcept { return false; }
  template <detail::runtime_promise Promise>
  void await_suspend(std::coroutine_handle<Promise> h,
                     const detail::call_location& at = {}) noexcept {
    detail::promise_base& c = h.promise();
    detail::mark_suspended(c, await_kind::ready, nullptr, nullptr, at);
    c.assign(target.m_home, target.m_pinned, target.m_priority);
    detail::schedule(c);
  }
  void await_resume() const noexcept {}
};

inline executor::move_awaiter executor::schedule() const noexcept { return {*this}; }

/// Options of a spawned task.
struct spawn_options {
  starling::priority priority = starling::priority::normal;
};

/// Starts `t` on the calling worker; other workers may steal it. Costs no allocation: the frame is
/// the shared state. @throws usage_error on a thread outside every runtime (use runtime::spawn)
template <class T>
future<T> spawn(task<T> t, spawn_options options = {}) {
  detail::worker& here = detail::require_worker("spawn");
  auto& p = std::move(t).release().promise();
  future<T> result = detail::make_spawned(p, here, false, options.priority);
  here.push(p);
  return result;
}

/// Starts `t` on the calling worker without a future; the runtime reports its exception, if any.
template <class T>
void post(task<T> t, spawn_options options = {}) {
  executor(detail::require_worker("post"), false, options.priority).post(std::move(t));
}

/// Calls `f(args…)` on `target` and returns the future of its result; a task that `f` returns is
/// awaited. Arguments are moved or copied; use std::ref for references.
template <class F, class... Args>
requires std::invocable<std::decay_t<F>, std::decay_t<Args>...>
auto async(const executor& target, F&& f, Args&&... args) {
  return target.spawn(detail::call<std::decay_t<F>, std::decay_t<Args>...>(
      std::forward<F>(f), std::forward<Args>(args)...));
}

/// As above, on the calling worker's runtime.
template <class F, class... Args>
requires std::invocable<std::decay_t<F>, std::decay_t<Args>...>
auto async(F&& f, Args&&... args) {
  return spawn(detail::call<std::decay_t<F>, std::decay_t<Args>...>(std::forward<F>(f),
                                                                    std::forward<Args>(args)...));
}

}  // namespace starling
