// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <coroutine>
#include <exception>
#include <functional>
#include <source_location>
#include <type_traits>
#include <utility>

#include <starling/core/detail/state.hpp>
#include <starling/core/detail/worker.hpp>
#include <starling/core/error.hpp>
#include <starling/core/task.hpp>

namespace starling {

template <class T = void>
class shared_future;

namespace detail {

/// Throws the `hang_error` for which the diagnosis resumed the calling coroutine early.
[[noreturn]] void throw_interrupted();
/// Returns a `broken_promise`, or the std::bad_alloc if its allocation fails.
[[nodiscard]] std::exception_ptr broken_promise_error() noexcept;
/// Throws a usage_error that names `call`.
[[noreturn]] void throw_outside_runtime(const char* call);

/// Returns the calling thread's worker. @throws usage_error naming `call` outside a runtime
[[nodiscard]] inline worker& require_worker(const char* call) {
  worker* here = worker::current();
  if (here == nullptr) [[unlikely]]
    throw_outside_runtime(call);
  return *here;
}

/// Publishes the stored result of a producer other than a finishing coroutine, and notifies the
/// waiter.
template <class T>
void complete(state<T>& s) noexcept {
  const bool on_worker = worker::current() != nullptr;
  const state_base::word waiting = on_worker ? s.publish_on_worker() : s.publish();
  if (waiting == state_base::pending) return;
  if (waiting == state_base::abandoned) return s.destroy();
  if (promise_base* consumer = state_base::as_coroutine(waiting)) return schedule(*consumer);
  callback& c = state_base::as_callback(waiting);
  c.notify(c);
}

/// Owner of the consumer's end of a state.
template <class T>
class consumer_end {
 public:
  consumer_end() noexcept = default;
  explicit consumer_end(state<T>* s) noexcept : m_state(s) {}
  consumer_end(consumer_end&& other) noexcept : m_state(std::exchange(other.m_state, nullptr)) {}
  consumer_end& operator=(consumer_end&& other) noexcept {
    const consumer_end old(std::exchange(m_state, std::exchange(other.m_state, nullptr)));
    return *this;
  }
  ~consumer_end() {
    if (m_state != nullptr) give_up(*m_state);
  }

  [[nodiscard]] state<T>* get() const noexcept { return m_state; }
  [[nodiscard]] state<T>* operator->() const noexcept { return m_state; }
  explicit operator bool() const noexcept { return m_state != nullptr; }

 private:
  // Separate from the destructor, which is inlined and usually has nothing to give up.
  static void give_up(state<T>& s) noexcept {
    // A ready state is owned by the consumer alone: freeing it needs no exchange.
    if (s.is_ready() || s.abandon()) s.destroy();
  }
  state<T>* m_state = nullptr;
};

inline bool withdraw_waiter(promise_base& c) noexcept {
  return awaited_object<state_base>(c).withdraw(&c);
}

/// As above for the result of a task. The hang diagnosis recognises waits for tasks by this
/// function: it ends them only if no other wait can be ended.
bool withdraw_task_waiter(promise_base& c) noexcept;

// A member of a class of detail/, which the API reference omits.
/// @cond
template <class T>
void state<T>::destroy() noexcept {
  if (in_frame) {
    static_cast<task_promise<T>&>(*this).dispose();
  } else {
    auto& block = static_cast<block_state<T>&>(*this);
    block.free(block);
  }
}
/// @endcond

template <class T>
[[nodiscard]] withdraw_fn withdraw_of(const state<T>& s) noexcept {
  return s.in_frame ? &withdraw_task_waiter : &withdraw_waiter;
}

template <class T>
class future_awaiter {
 public:
  explicit future_awaiter(consumer_end<T> end) noexcept : m_end(std::move(end)) {}

  bool await_ready() const noexcept { return m_end->is_ready(); }

  template <runtime_promise Promise>
  std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> h,
                                        const detail::call_location& at = {}) noexcept {
    state<T>& s = *m_end.get();
    if (s.in_frame) {
      // The task was spawned last and has not started: it becomes an ordinary child, whose result
      // needs no atomic hand-over.
      auto& child = static_cast<task_promise<T>&>(s);
      worker& here = *worker::current();
      if (here.take_back(child)) {
        h.promise().await_child(at);
        child.spawned = false;
        child.set_parent(h.promise());
        return here.transfer(child);
      }
    }
    mark_suspended(h.promise(), await_kind::future, static_cast<state_base*>(&s), withdraw_of(s),
                   at);
    if (s.subscribe(h.promise())) return std::noop_coroutine();
    forget_wait(h.promise());
    return h;
  }

  T await_resume() {
    if (!m_end->is_ready()) [[unlikely]]
      throw_interrupted();
    return m_end->result.take();
  }

 private:
  consumer_end<T> m_end;
};

}  // namespace detail

/// The result of started work, with exactly one consumer.
///
/// Await it (`co_await std::move(f)`), chain it (`.then`), join it (`when_all`, `when_any`), share
/// it (`.share()`), or block on it from a thread outside the runtime (`runtime::sync_wait`). An
/// error of the work is rethrown in place of the value. Destroying a future detaches it: the work
/// continues and its result is discarded. Move-only; used by one thread at a time.
template <class T = void>
class [[nodiscard]] future {
 public:
  using value_type = T;

  /// Constructs an invalid future; awaiting it throws `usage_error`.
  future() noexcept = default;
  explicit future(detail::state<T>* s) noexcept : m_end(s) {}

  [[nodiscard]] bool valid() const noexcept { return static_cast<bool>(m_end); }
  /// Returns whether an await would not suspend.
  [[nodiscard]] bool is_ready() const noexcept { return valid() && m_end->is_ready(); }

  /// Consumes the future. The await yields the result by value, never a reference into the future.
  detail::future_awaiter<T> operator co_await() {
    if (!valid()) throw usage_error("await of a future that was already consumed or moved from");
    return detail::future_awaiter<T>(std::move(m_end));
  }

  /// Runs `f` on a worker once the result is ready, and returns the future of the result of `f`.
  /// `f` takes the value (an error skips `f` and is passed on) or the ready `future<T>`; a function
  /// that accepts both, such as a generic lambda, gets the value. A task that `f` returns is
  /// awaited. Never runs `f` inside this call. @throws usage_error on a thread that is no worker
  template <class F>
  auto then(F f, const detail::call_location& at = {}) &&;

  /// Consumes the future and returns its result for any number of consumers.
  [[nodiscard]] shared_future<T> share() &&;

  [[nodiscard]] detail::state<T>* state() const noexcept { return m_end.get(); }

 private:
  detail::consumer_end<T> m_end;
};

namespace detail {

/// Assigns the frame of `p` to the scheduler of `home` and returns its future; does not queue it.
template <class T>
[[nodiscard]] future<T> make_spawned(task_promise<T>& p, worker& home, bool pinned,
                                     starling::priority priority) noexcept {
  p.assign(&home, pinned, priority);
  p.spawned = true;
  p.in_frame = true;
  return future<T>(&p);
}

/// As above for a task without a future, which frees its own frame when it ends.
template <class T>
void make_posted(task_promise<T>& p, worker& home, bool pinned,
                 starling::priority priority) noexcept {
  p.assign(&home, pinned, priority);
  p.spawned = true;
  p.posted = true;
  p.start_abandoned();
}

template <class T>
struct unwrapped {
  using type = T;
};
template <class T>
struct unwrapped<task<T>> {
  using type = T;
};
template <class T>
using unwrapped_t = typename unwrapped<T>::type;

/// Calls `f` and returns its result; a task that `f` returns is awaited.
template <class F, class... Args>
task<unwrapped_t<std::invoke_result_t<F, Args...>>> call(F f, Args... args) {
  if constexpr (is_task<std::invoke_result_t<F, Args...>>)
    co_return co_await std::invoke(std::move(f), std::move(args)...);
  else
    co_return std::invoke(std::move(f), std::move(args)...);
}

/// The call of `f` with the value of a future<T>, or without arguments if T is void. Has no `type`
/// if `f` cannot be called so.
template <class F, class T>
using call_with_value =
    std::conditional_t<std::is_void_v<T>, std::invoke_result<F>, std::invoke_result<F, T>>;
// Named, because nvcc 13 fails on the same condition within the function.
template <class Call>
concept has_type = requires {
  typename Call::type;
};

/// Moves the result out of the input for which `then_value` was resumed, and frees its state.
template <class T>
T take_from(future<T> ready) {
  if (!ready.is_ready()) [[unlikely]]
    throw_interrupted();
  return ready.state()->result.take();
}

/// Body of `then`. It starts when `input` is ready (see `start_after`), so it needs no await.
template <class R, class T, class F>
task<R> then_value(future<T> input, F f) {
  if constexpr (std::is_void_v<T>) {
    take_from(std::move(input));
    if constexpr (is_task<std::invoke_result_t<F>>)
      co_return co_await std::invoke(std::move(f));
    else
      co_return std::invoke(std::move(f));
  } else {
    if constexpr (is_task<std::invoke_result_t<F, T>>)
      co_return co_await std::invoke(std::move(f), take_from(std::move(input)));
    else
      co_return std::invoke(std::move(f), take_from(std::move(input)));
  }
}

/// Starts `t` when `input` is ready: the frame of `t` itself is the waiter of `input`.
template <class T, class R>
future<R> start_after(worker& here, state<T>& input, task<R> t, const std::source_location& at) {
  auto& p = std::move(t).release().promise();
  future<R> result = make_spawned(p, here, false, priority::normal);
  mark_suspended(p, await_kind::future, static_cast<state_base*>(&input), withdraw_of(input), at);
  if (!input.subscribe(p)) here.push(p);
  return result;
}

}  // namespace detail

template <class T>
template <class F>
auto future<T>::then(F f, const detail::call_location& at) && {
  if (!valid()) throw usage_error("then on a future that was already consumed or moved from");
  detail::worker& here = detail::require_worker("future::then");
  detail::state<T>& input = *m_end.get();
  using called = detail::call_with_value<F, T>;
  if constexpr (detail::has_type<called>) {
    using result = detail::unwrapped_t<typename called::type>;
    return detail::start_after(here, input,
                               detail::then_value<result>(std::move(*this), std::move(f)), at);
  } else {
    return detail::start_after(here, input, detail::call(std::move(f), std::move(*this)), at);
  }
}

/// The producer's end of a future, fulfilled explicitly and from any thread.
///
/// A thread outside the runtime that will fulfil a promise with a waiter should hold an
/// `external_work` token; otherwise the hang diagnosis may report the wait as a hang.
template <class T = void>
class promise {
 public:
  /// @throws std::bad_alloc
  promise() : m_block(new block) {}
  promise(promise&& other) noexcept
      : m_block(std::exchange(other.m_block, nullptr)), m_retrieved(other.m_retrieved),
        m_satisfied(other.m_satisfied) {}
  promise& operator=(promise&& other) noexcept {
    promise(std::move(other)).swap(*this);
    return *this;
  }
  ~promise() {
    if (m_block == nullptr) return;
    if (!m_retrieved) {
      delete m_block;
    } else if (!m_satisfied) {
      m_block->result.set_error(detail::broken_promise_error());
      detail::complete<T>(*m_block);
    }
  }

  /// Returns the promise's future. @throws usage_error at the second call
  [[nodiscard]] future<T> get_future() {
    if (m_block == nullptr || m_retrieved) throw usage_error("get_future called twice");
    m_retrieved = true;
    return future<T>(m_block);
  }

  /// Stores the value and makes the waiter ready, without running it inside this call.
  /// @throws usage_error if already satisfied
  template <class... Args>
  void set_value(Args&&... args) {
    check_unsatisfied();
    m_block->result.set_value(std::forward<Args>(args)...);
    m_satisfied = true;
    detail::complete<T>(*m_block);
  }
  void set_exception(std::exception_ptr error) {
    check_unsatisfied();
    m_block->result.set_error(std::move(error));
    m_satisfied = true;
    detail::complete<T>(*m_block);
  }

  void swap(promise& other) noexcept {
    std::swap(m_block, other.m_block);
    std::swap(m_retrieved, other.m_retrieved);
    std::swap(m_satisfied, other.m_satisfied);
  }

 private:
  struct block final : detail::block_state<T>, detail::pooled<detail::block_kind::state> {
    block() noexcept {
      this->free = [](detail::block_state<T>& s) noexcept { delete static_cast<block*>(&s); };
    }
  };

  void check_unsatisfied() const {
    if (m_block == nullptr || m_satisfied) throw usage_error("promise is already satisfied");
  }

  block* m_block;  // once satisfied, owned by the retrieved future, if any
  bool m_retrieved = false;
  bool m_satisfied = false;
};

/// Returns a future that already holds `value`.
template <class T>
[[nodiscard]] future<std::decay_t<T>> make_ready_future(T&& value) {
  promise<std::decay_t<T>> p;
  p.set_value(std::forward<T>(value));
  return p.get_future();
}
[[nodiscard]] inline future<void> make_ready_future() {
  promise<void> p;
  p.set_value();
  return p.get_future();
}

}  // namespace starling

#include <starling/core/shared_future.hpp>
