// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <typeindex>
#include <utility>

#include <starling/core/detail/counted.hpp>
#include <starling/core/executor.hpp>
#include <starling/core/future.hpp>
#include <starling/core/options.hpp>
#include <starling/core/poller.hpp>
#include <starling/core/trace.hpp>

namespace starling {

class runtime;

/// Counters of a worker since the start of the runtime.
struct worker_statistics {
  std::uint64_t resumed = 0;  ///< coroutines taken from a queue (direct hand-overs not counted)
  std::uint64_t stolen = 0;   ///< of these, taken from another worker
  std::uint64_t slept = 0;    ///< times it fell asleep; a worker asleep uses no processor time
  std::uint64_t polled = 0;   ///< polls of devices, network and timers
};

namespace detail {

/// State that a thread blocked in `sync_wait` shares with the scheduler.
class sync_root : public counted {
 public:
  /// Ends the wait. The coroutine of `sync_body` does not access this object afterwards.
  void release() noexcept;
  std::exception_ptr failure;  // set if the run is ended by an error, or is hung and cannot unwind

 private:
  friend class scheduler_impl;
  std::atomic<int> m_done{0};  // 0 → 1 once, release; the blocked thread acquires
};

template <class T>
struct sync_result final : sync_root {
  owned_result<T> result;
};

template <class T, class Awaitable>
task<void> sync_body(Awaitable awaited, counted_ptr<sync_result<T>> root) {
  try {
    // A local variable, so that its content is destroyed before the waiting thread continues.
    Awaitable local = std::move(awaited);
    if constexpr (std::is_void_v<T>) {
      co_await std::move(local);
      root->result.set_value();
    } else {
      root->result.set_value(co_await std::move(local));
    }
  } catch (...) {
    root->result.set_error(std::current_exception());
  }
  root->release();
}

}  // namespace detail

/// Token of a thread outside the runtime that is going to complete a wait (fulfil a promise, send
/// on a channel). While a token exists, the run is not hung. Movable; released on destruction.
class [[nodiscard]] external_work {
 public:
  explicit external_work(detail::scheduler_impl& owner) noexcept;
  external_work(external_work&& other) noexcept : m_owner(std::exchange(other.m_owner, nullptr)) {}
  external_work& operator=(external_work&& other) noexcept {
    std::swap(m_owner, other.m_owner);
    return *this;
  }
  ~external_work();

 private:
  detail::scheduler_impl* m_owner;
};

/// A scheduler with its workers, options, pollers and services. An ordinary object: a process may
/// have several runtimes.
///
/// The destructor drains: it returns when no work is runnable or in flight. For each spawned or
/// posted task, together with the children that it awaits, it waits for one sleep: the current
/// sleep, else the next. When only later sleeps remain, they throw `runtime_ends`, so that periodic
/// tasks end. A task that posts its own successor needs a stop token to end. Detached tasks that
/// can never continue are reported on stderr and unwound with `hang_error`. If the run was ended
/// (`ended_runs`), the destructor waits for no sleep and at most 5 s for running work; then it
/// prints a list of that work and leaves it behind, with all services. The destructor blocks, as do
/// `sync_wait` and `wait_idle`, so no worker of any runtime may call it (`usage_error`, which ends
/// the program if thrown from the destructor).
///
/// The child of a fork has no workers. It may call exec, `_exit` and `exit`, and destroy runtimes,
/// which has no effect there; calls that block, and new runtimes, throw `usage_error`.
///
/// An `error` that the program does not catch, such as an exception that leaves `main`, is printed
/// as one message and ends the program with exit code 2 for an `option_error`, else 1; buffered
/// output is written. Standard output that cannot be written makes the exit code 1, too.
class runtime {
 public:
  /// Takes options from the environment. All constructors: @throws option_error, resource_error
  /// when the system gives too few threads, usage_error in the child of a fork
  runtime();
  /// Takes options from environment and command line; removes `--starling-…` from argv.
  runtime(int& argc, char** argv);
  explicit runtime(runtime_options options);
  ~runtime();
  runtime(const runtime&) = delete;
  runtime& operator=(const runtime&) = delete;

  [[nodiscard]] const runtime_options& options() const noexcept;
  [[nodiscard]] unsigned worker_count() const noexcept;
  [[nodiscard]] starling::tracer& tracer() noexcept;

  /// Returns an executor for any worker.
  [[nodiscard]] executor get_executor(
      starling::priority priority = starling::priority::normal) noexcept;
  /// Returns an executor for one worker, 0 ≤ index < worker_count(); its work is never stolen.
  /// @throws usage_error on a bad index
  [[nodiscard]] executor on_worker(unsigned index,
                                   starling::priority priority = starling::priority::normal);

  template <class T>
  future<T> spawn(task<T> t) {
    return get_executor().spawn(std::move(t));
  }
  template <class T>
  void post(task<T> t) {
    get_executor().post(std::move(t));
  }

  /// Blocks the calling thread, which must not be a worker, until `awaited` (a task, a future or
  /// any awaitable with a value_type) is complete and its content is destroyed. Rethrows its error;
  /// throws `hang_error` when the run hangs, and `entry_error` as soon as an entry method without a
  /// waiter fails. After `entry_error` tasks may still run, also `awaited`: the objects that they
  /// use must exist until `wait_idle` has returned or the runtime is destroyed. @throws usage_error
  /// on a worker
  template <class Awaitable>
  typename Awaitable::value_type sync_wait(Awaitable awaited) {
    using T = typename Awaitable::value_type;
    const detail::counted_ptr root(new detail::sync_result<T>());
    start_root(detail::sync_body<T>(std::move(awaited), root), *root);
    return root->result.take();
  }

  /// Blocks until no work is runnable or in flight; rethrows the error that ended the run, else the
  /// first error of a posted task. GPU work without a waiting task or future does not count.
  /// @throws usage_error on a worker
  void wait_idle();

  void add_poller(poller& p);
  /// Removes `p`; returns when no worker is inside it.
  void remove_poller(poller& p) noexcept;
  /// Requests a poll, as a poller has new operations in flight; wakes a worker if none searches.
  void notify_pollers() noexcept;

  [[nodiscard]] external_work hold_external_work() noexcept;

  /// Declares whether other processes, such as the ranks of a job, may send this runtime work at
  /// any time. A connected runtime without work is not hung. For modules that connect it.
  void set_connected(bool connected) noexcept;

  /// Returns the number of runs that were ended early: by `exit_run`, by the error of an entry
  /// method without a waiter, because a rank failed. For modules whose work would otherwise
  /// continue. Any thread.
  [[nodiscard]] std::uint64_t ended_runs() const noexcept;

  /// Returns the counters of one worker. Any thread. @throws usage_error on a bad index
  [[nodiscard]] worker_statistics statistics(unsigned worker) const;

  /// Returns the list of suspended coroutines: for each the awaited object, the place and the
  /// duration. Any thread; exact only while no task runs. `SIGQUIT` prints the same list, and the
  /// errors that are still to be thrown. `quiescent`: the caller guarantees that no task runs, so
  /// that awaited objects may be asked for a description.
  [[nodiscard]] std::string describe_awaiters(bool quiescent = false) const;

  /// Returns the runtime's service of this type, made at first use by `Service(runtime&)`. Services
  /// are destroyed after the drain in reverse order; services whose constant
  /// `Service::holds_users_objects` is true are destroyed first, as these objects may use the
  /// remaining services. Thread-safe; the constructor may request further services, which are
  /// destroyed after it. @throws usage_error when a service requests itself
  template <class Service>
  Service& service() {
    constexpr bool ends_early = requires { requires Service::holds_users_objects; };
    const auto make = [this]() -> std::shared_ptr<void> {
      return std::make_shared<Service>(*this);
    };
    return *static_cast<Service*>(find_service(typeid(Service), make, ends_early));
  }
  /// Returns the runtime's service of this type, or null if it has not been made. Thread-safe.
  template <class Service>
  [[nodiscard]] Service* existing_service() {
    return static_cast<Service*>(find_service(typeid(Service), nullptr, false));
  }

  /// Returns a random number of chaos mode, 0 … bound−1; always 0 without chaos mode. Any thread.
  [[nodiscard]] std::uint32_t chaos(std::uint32_t bound) noexcept;

  /// Returns the runtime of the calling worker, or null on other threads.
  [[nodiscard]] static runtime* current() noexcept;
  /// Returns the index of the calling worker, or −1 on other threads.
  [[nodiscard]] static int worker_index() noexcept;

 private:
  void start_root(task<void> body, detail::sync_root& root);
  /// `make` may be empty: a missing service is not made then, and null is returned.
  void* find_service(std::type_index type, const std::function<std::shared_ptr<void>()>& make,
                     bool ends_early);

  std::unique_ptr<detail::scheduler_impl> m_impl;
};

}  // namespace starling
