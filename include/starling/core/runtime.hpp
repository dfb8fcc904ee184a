// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <typeindex>
#include <utility>
#include <vector>

#include <starling/core/executor.hpp>
#include <starling/core/future.hpp>
#include <starling/core/options.hpp>
#include <starling/core/scheduler.hpp>
#include <starling/core/trace.hpp>

namespace starling {

class runtime;

/// What a worker has done since the runtime began.
struct worker_statistics {
  std::uint64_t resumed = 0;  ///< coroutines taken from a queue (direct hand-overs not counted)
  std::uint64_t stolen = 0;   ///< of these, taken from another worker
  std::uint64_t slept = 0;    ///< times it fell asleep; a worker asleep uses no processor time
  std::uint64_t polled = 0;   ///< looks at devices, network and timers
};

namespace detail {

/// What a thread blocked in `sync_wait` shares with the scheduler.
class sync_root {
 public:
  virtual ~sync_root() = default;
  /// Marks the wait as over; the last thing the waiting coroutine does with it.
  void release() noexcept;
  std::exception_ptr failure;  // set by the diagnosis when the run cannot even unwind

 private:
  friend class scheduler_impl;
  std::atomic<int> m_done{0};  // 0 → 1 once, release; the blocked thread acquires
};

template <class T>
struct sync_result final : sync_root {
  outcome<T> result;
};

template <class T, class Awaitable>
task<void> sync_body(Awaitable awaited, std::shared_ptr<sync_result<T>> root) {
  try {
    // A local of its own: what it holds is destroyed before the waiting thread goes on.
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

/// Declares that a thread outside the runtime is going to make something ready (fulfil a promise,
/// send on a channel), so that waiting for it is no hang. Movable; released on destruction.
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

/// The scheduler and everything that belongs to it. An ordinary object: several may live in one
/// process, each with its own workers, options, pollers and services.
///
/// The destructor drains: it returns when nothing is runnable and nothing is in flight. Of each
/// spawned or posted task, with all that it awaits, it waits for the sleep that it is in, else for
/// the next one, but not for later ones: when only those are left, they throw `runtime_ends`, so
/// that periodic tasks end. A task that posts its own successor needs a stop token to end. Detached
/// tasks that can never continue are reported on stderr and unwound with `hang_error`. Where the
/// run was ended (`ended_runs`), the destructor waits for no sleep, and 5 s at most for what still
/// runs; then it says what that is, and leaves it behind with all services. Like `sync_wait` and
/// `wait_idle` it blocks, so no worker of any runtime may call it (`usage_error`, which ends the
/// program where it comes from the destructor).
///
/// The child of a fork has none of the threads. It may call exec, `_exit` and `exit`, and destroy
/// runtimes, which does nothing there; all that waits, and new runtimes, are a `usage_error`.
///
/// An `error` that the program does not catch, such as one that leaves `main`, is printed as one
/// message and ends it with exit code 2 for an `option_error`, 1 for all others; buffered output is
/// written. Output that cannot be written makes the exit code 1, too.
class runtime {
 public:
  /// Options from the environment. All constructors: @throws option_error, resource_error when the
  /// system gives too few threads, usage_error in the child of a fork
  runtime();
  /// Options from environment and command line; removes `--starling-…` from argv.
  runtime(int& argc, char** argv);
  explicit runtime(runtime_options options);
  ~runtime();
  runtime(const runtime&) = delete;
  runtime& operator=(const runtime&) = delete;

  [[nodiscard]] const runtime_options& options() const noexcept;
  [[nodiscard]] unsigned worker_count() const noexcept;
  [[nodiscard]] starling::tracer& tracer() noexcept;

  /// Any worker, at a priority.
  [[nodiscard]] executor get_executor(priority urgency = priority::normal) noexcept;
  /// One worker, 0 ≤ index < worker_count(); work given to it is never stolen.
  /// @throws usage_error on a bad index
  [[nodiscard]] executor on_worker(unsigned index, priority urgency = priority::normal);

  template <class T>
  future<T> spawn(task<T> t) {
    return get_executor().spawn(std::move(t));
  }
  template <class T>
  void post(task<T> t) {
    get_executor().post(std::move(t));
  }

  /// Blocks the calling thread, which must not be a worker, until `awaited` (a task, a future or
  /// any awaitable of value_type) has its result and what it held is destroyed. Rethrows its error;
  /// throws `hang_error` when nothing can happen any more, and `entry_error` as soon as an entry
  /// method fails that nobody awaits: then tasks may still run, `awaited` too, so what they refer
  /// to must live until `wait_idle` has returned or the runtime is gone. @throws usage_error on a
  /// worker
  template <class Awaitable>
  typename Awaitable::value_type sync_wait(Awaitable awaited) {
    using T = typename Awaitable::value_type;
    auto root = std::make_shared<detail::sync_result<T>>();
    start_root(detail::sync_body<T>(std::move(awaited), root), *root);
    return root->result.take();
  }

  /// Blocks until no task is runnable and nothing is in flight; rethrows the first error of a
  /// posted task. Work of a GPU that no task or future waits for does not count.
  /// @throws usage_error on a worker
  void wait_idle();

  void add_poller(poller& p);
  /// Returns when no worker is inside `p`.
  void remove_poller(poller& p) noexcept;
  /// Tells sleeping workers that a poller has something in flight.
  void notify_pollers() noexcept;

  [[nodiscard]] external_work hold_external_work() noexcept;

  /// Whether others, such as the ranks of a job, may send this runtime work at any time: that
  /// nothing moves here is no hang then. For modules that connect it.
  void set_connected(bool connected) noexcept;

  /// Runs that were ended before they were over: by `exit_run`, by an entry method's error that
  /// nobody awaits, because a rank was lost. For modules whose work would go on by itself. Any
  /// thread.
  [[nodiscard]] std::uint64_t ended_runs() const noexcept;

  /// What one worker has counted so far. Any thread. @throws usage_error on a bad index
  [[nodiscard]] worker_statistics statistics(unsigned worker) const;

  /// The list of suspended coroutines: what each awaits, where, for how long. Any thread; exact
  /// only while nothing runs. `SIGQUIT` prints the same, and errors that wait to be thrown.
  /// `at_rest`: the caller knows that nothing runs, so that what is awaited can be asked what it
  /// is.
  [[nodiscard]] std::string describe_awaiters(bool at_rest = false) const;

  /// An object of another module that lives as long as the runtime, made on first use by
  /// `Service(runtime&)`, destroyed after the drain in reverse order. One with a constant
  /// `Service::holds_users_objects` that is true goes before all others, as those objects may use
  /// them. Thread-safe; the constructor may ask for other services, which are destroyed after it.
  /// @throws usage_error when a service needs itself
  template <class Service>
  Service& service() {
    constexpr bool ends_early = requires { requires Service::holds_users_objects; };
    const auto make = [this]() -> std::shared_ptr<void> {
      return std::make_shared<Service>(*this);
    };
    return *static_cast<Service*>(find_service(typeid(Service), make, ends_early));
  }

  /// Random numbers of chaos mode: 0 … bound−1, always 0 when chaos is off. Any thread.
  [[nodiscard]] std::uint32_t chaos(std::uint32_t bound) noexcept;

  /// The runtime whose worker the calling thread is, or null.
  [[nodiscard]] static runtime* current() noexcept;
  /// Index of the calling worker, or −1.
  [[nodiscard]] static int worker_index() noexcept;

 private:
  void start_root(task<void> body, detail::sync_root& root);
  void* find_service(std::type_index type, const std::function<std::shared_ptr<void>()>& make,
                     bool ends_early);

  std::unique_ptr<detail::scheduler_impl> m_impl;
};

}  // namespace starling
