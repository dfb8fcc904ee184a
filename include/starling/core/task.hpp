// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <coroutine>
#include <exception>
#include <utility>

#include <starling/core/detail/closure.hpp>
#include <starling/core/detail/foreign_awaiter.hpp>
#include <starling/core/detail/promise_base.hpp>
#include <starling/core/detail/state.hpp>
#include <starling/core/detail/worker.hpp>

namespace starling {

template <class T = void>
class task;

namespace detail {

[[noreturn]] void throw_not_awaitable(bool moved_from);
[[noreturn]] void throw_borrowing_task();

/// Follows the awaits from `coroutine` through its parents and returns the spawned or posted task
/// at the end of the chain. May be called only by the current holder of `coroutine`.
[[nodiscard]] promise_base& root_of(promise_base& coroutine) noexcept;
/// Returns the callback that is subscribed to the result of task `root`; null if there is none. May
/// be called only by the current holder of `root`.
[[nodiscard]] callback* callback_of(promise_base& root) noexcept;
/// Pins a suspended coroutine and those that await it, up to its root, to worker `to`.
void rehome(promise_base& coroutine, worker& to) noexcept;

/// Records an exception that no future or awaiter receives; the runtime rethrows or prints it.
void report_unhandled(worker& here, std::exception_ptr error) noexcept;

template <class T>
class task_promise_common : public promise_base, public state<T> {
 public:
  task_promise_common() noexcept { this->is_task = true; }

  task<T> get_return_object(const detail::call_location& declared = {}) noexcept;
  std::suspend_always initial_suspend() const noexcept { return {}; }

  template <class Awaitable>
  static auto await_transform(Awaitable&& awaited) {
    return transform_await(std::forward<Awaitable>(awaited));
  }

  struct final_awaiter {
    bool await_ready() const noexcept { return false; }
    template <class Promise>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> h) const noexcept {
      return h.promise().finish(h);
    }
    void await_resume() const noexcept {}
  };
  final_awaiter final_suspend() const noexcept { return {}; }

  void unhandled_exception() noexcept { this->result.set_error(std::current_exception()); }

  /// Destroys the result and frees the block. Only after the coroutine's end.
  void dispose() noexcept {
    this->result.clear();
    this->free_block();
  }

 private:
  /// Destroys the coroutine, that is its parameters, and transfers control to its waiter. The block
  /// with this promise and the result remains (see promise_base::operator delete) until `publish`;
  /// from then on the consumer may free it.
  std::coroutine_handle<> finish(std::coroutine_handle<> self) noexcept {
    worker& here = *worker::current();
    this->kind.store(await_kind::done, std::memory_order_relaxed);
    this->ended = true;
    self.destroy();
    if (!this->spawned) {
      promise_base& parent = this->parent();
      this->set_ready();
      return here.transfer(parent);
    }
    const state_base::word waiting = this->publish_on_worker();
    if (waiting == state_base::pending) return std::noop_coroutine();
    if (waiting == state_base::abandoned) {
      if (this->posted && this->result.has_error()) report_unhandled(here, this->result.error());
      dispose();
      return std::noop_coroutine();
    }
    if (promise_base* consumer = state_base::as_coroutine(waiting)) return here.transfer(*consumer);
    callback& c = state_base::as_callback(waiting);
    c.notify(c);
    return std::noop_coroutine();
  }
};

template <class T>
class task_promise final : public task_promise_common<T> {
 public:
  // Not inherited: g++ ignores the second constructor if it is inherited.
  task_promise() noexcept = default;
  template <lambda_of_coroutine Lambda, class... Args>
  explicit task_promise(Lambda&&, Args&&...) noexcept {
    this->borrows = has_captures<Lambda>;
  }

  template <class U>
  requires std::constructible_from<T, U>
  void return_value(U&& value) { this->result.set_value(std::forward<U>(value)); }
};

template <class T>
class task_promise<T&> final : public task_promise_common<T&> {
 public:
  task_promise() noexcept = default;
  template <lambda_of_coroutine Lambda, class... Args>
  explicit task_promise(Lambda&&, Args&&...) noexcept {
    this->borrows = has_captures<Lambda>;
  }
  void return_value(T& value) noexcept { this->result.set_value(value); }
};

template <>
class task_promise<void> final : public task_promise_common<void> {
 public:
  task_promise() noexcept = default;
  template <lambda_of_coroutine Lambda, class... Args>
  explicit task_promise(Lambda&&, Args&&...) noexcept {
    this->borrows = has_captures<Lambda>;
  }
  void return_void() noexcept { this->result.set_value(); }
};

}  // namespace detail

/// A lazy coroutine with one consumer: it starts when it is awaited or spawned.
///
/// `co_await std::move(t)` runs it as a child on the awaiting worker and resumes the parent
/// directly when it ends; the await yields its value or rethrows its exception. A task that is
/// never awaited never runs. Locals and parameters are destroyed when it ends, before its
/// completion is visible; the result exists as long as the task or its future. Movable, not
/// thread-safe; frames come from per-thread pools.
///
/// A task runs on workers only. It may await an awaitable of another library, whose
/// `await_suspend` takes a `std::coroutine_handle<>`: whichever thread resumes the task, it
/// continues on a worker of its runtime, or on its own worker if it is pinned. Hold an
/// `external_work` token while a thread outside the runtime is to resume it; otherwise the hang
/// diagnosis may report the wait as a hang.
///
/// A lambda's captures are stored in the lambda, not in the task that it returns. Await such a task
/// while the lambda exists, or pass the lambda itself to `async`, which keeps it. `spawn(lambda())`
/// and `post(lambda())` of a lambda with captures throw `usage_error` if `assert` is enabled and
/// the compiler is g++.
template <class T>
class [[nodiscard]] task {
 public:
  using promise_type = detail::task_promise<T>;
  using value_type = T;

  task(task&& other) noexcept : m_frame(std::exchange(other.m_frame, nullptr)) {}
  task& operator=(task&& other) noexcept {
    const task old(std::exchange(m_frame, std::exchange(other.m_frame, nullptr)));
    return *this;
  }
  ~task() {
    if (m_frame == nullptr) return;
    if (m_frame.promise().ended)
      m_frame.promise().dispose();
    else
      m_frame.destroy();
  }

  /// False after the task was moved from or passed to `spawn`.
  explicit operator bool() const noexcept { return m_frame != nullptr; }

  class awaiter {
   public:
    explicit awaiter(std::coroutine_handle<promise_type> frame) noexcept : m_frame(frame) {}
    bool await_ready() const noexcept { return false; }
    template <detail::runtime_promise Parent>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<Parent> parent,
                                          const detail::call_location& at = {}) noexcept {
      detail::promise_base& waiting = parent.promise();
      promise_type& child = m_frame.promise();
      waiting.await_child(at);
      child.assign(waiting.home, waiting.pinned, waiting.priority);
      child.set_parent(waiting);
      return detail::worker::current()->transfer(child);
    }
    T await_resume() { return m_frame.promise().result.take(); }

   private:
    std::coroutine_handle<promise_type> m_frame;
  };

  /// The task must outlive the await; a temporary task does.
  /// @throws usage_error if it was moved from or has been awaited before
  awaiter operator co_await() const {
    check_unused();
    return awaiter(m_frame);
  }

  /// Releases the frame to `spawn`. @throws usage_error as the await does, and for captures (above)
  [[nodiscard]] std::coroutine_handle<promise_type> release() && {
    check_unused();
    if constexpr (detail::looks_for_misuse)
      if (m_frame.promise().borrows) detail::throw_borrowing_task();
    return std::exchange(m_frame, nullptr);
  }

 private:
  friend detail::task_promise_common<T>;
  void check_unused() const {
    if (m_frame == nullptr || m_frame.promise().kind.load(std::memory_order_relaxed) !=
                                  await_kind::not_started) [[unlikely]]
      detail::throw_not_awaitable(m_frame == nullptr);
  }
  explicit task(std::coroutine_handle<promise_type> frame) noexcept : m_frame(frame) {
    static_assert(alignof(promise_type) <= 16,
                  "results aligned beyond 16 bytes: return them by std::unique_ptr");
  }
  std::coroutine_handle<promise_type> m_frame;
};

namespace detail {

template <class T>
task<T> task_promise_common<T>::get_return_object(const detail::call_location& declared) noexcept {
  this->created = declared;
  auto& self = static_cast<task_promise<T>&>(*this);
  return task<T>(std::coroutine_handle<task_promise<T>>::from_promise(self));
}

template <class T>
inline constexpr bool is_task = false;
template <class T>
inline constexpr bool is_task<task<T>> = true;

}  // namespace detail
}  // namespace starling
