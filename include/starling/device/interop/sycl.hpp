// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include <sycl/sycl.hpp>

#include <starling/core/error.hpp>
#include <starling/core/future.hpp>
#include <starling/core/runtime.hpp>
#include <starling/device/detail/foreign_work.hpp>
#include <starling/device/interop/sycl/async_errors.hpp>
#include <starling/device/types.hpp>

namespace starling::detail {
/// Returns whether `--starling-completion callback` is given. Defined where the option is
/// registered, so that a program with SYCL work alone knows the option, too.
[[nodiscard]] bool completes_by_callback(const runtime_options& options);
}  // namespace starling::detail

// The implementation-specific functions, in a file for each SYCL implementation.
#ifdef SYCL_IMPLEMENTATION_ONEAPI
#  include <starling/device/interop/sycl/dpcpp.hpp>
#else
#  include <starling/device/interop/sycl/adaptivecpp.hpp>
#endif

template <>
struct starling::detail::native_handle_of<::sycl::queue*> {
  static constexpr backend_kind backend = backend_kind::sycl;
};

/// Futures for user-written SYCL work, including kernels written as lambdas: compile with any SYCL
/// compiler. Needs no SYCL backend and works beside any backend, since the runtime only observes
/// the completion of the work. Completion is detected by polling between tasks, or, with
/// `--starling-completion callback`, by a `host_task`.
///
/// All functions must be called from a task of the runtime, else they throw `usage_error`. Events
/// and queues are reference-counted, so the originals may be destroyed before the work is complete.
///
/// Errors: a submission that SYCL refuses throws `sycl::exception` at the call. A failed event
/// makes its future a `device_error`. Asynchronous errors, such as an exception of a host task, go
/// to the queue's `async_handler`, which must be given when the queue is constructed. Pass an
/// `async_errors` as handler and also to `get_future`: then the error arrives as a `device_error`
/// in the queue's next future to become ready. SYCL may call any other handler whenever errors are
/// requested, here in a task; the runtime reports exceptions of such a handler as those of a posted
/// task. Without a handler, or when the queue was destroyed before, SYCL ends the program.
namespace starling::sycl {

namespace detail {

/// A pending event, with the queue and the error handler of its work if they are given.
class pending_event final : public starling::detail::foreign_work {
 public:
  pending_event(::sycl::event point, std::optional<::sycl::queue> source,
                std::optional<async_errors> errors)
      : m_point(std::move(point)), m_source(std::move(source)), m_errors(std::move(errors)) {
    flush(m_runtime);
  }

  [[nodiscard]] bool is_over() override { return has_ended(m_point); }

  /// Rethrows the error of the work. Checks asynchronous errors first, because they contain the
  /// cause, while the event only contains the fact that an operation failed.
  void finish() override {
    if (m_errors) {
      const async_errors::answer found = m_errors->take([this] { hand_out_errors(m_point); });
      if (found.strange)
        starling::detail::report_unhandled(*starling::detail::worker::current(), found.strange);
      if (found.own) std::rethrow_exception(found.own);
    }
    try {
      m_point.wait();
    } catch (const ::sycl::exception& e) {
      throw device_error(std::string("SYCL: queued work failed: ") + e.what(), e.code().value());
    }
  }
  [[nodiscard]] const ::sycl::event& point() const noexcept { return m_point; }

 private:
  keep_alive m_runtime;
  ::sycl::event m_point;
  // Only keeps the queue in existence: SYCL ends the program for errors of a destroyed queue.
  std::optional<::sycl::queue> m_source;
  std::optional<async_errors> m_errors;
};

/// Returns the calling task's runtime. @throws usage_error outside a runtime
[[nodiscard]] inline runtime& require_runtime() {
  runtime* const here = runtime::current();
  if (here == nullptr)
    throw usage_error("futures of SYCL work are made by tasks of a runtime: no worker calls here");
  return *here;
}

/// Delivers the completed work from a host task instead of a poll. Shared with the host task. The
/// destructor delivers the work if SYCL drops the host task because the work has failed.
struct told_by_host_task {
  told_by_host_task(runtime& rt, std::unique_ptr<pending_event> w)
      : in_flight(rt.hold_external_work()), work(std::move(w)) {}
  told_by_host_task(const told_by_host_task&) = delete;
  told_by_host_task& operator=(const told_by_host_task&) = delete;
  ~told_by_host_task() {
    if (work) tell();
  }
  void tell() { over.set_value(std::move(work)); }

  external_work in_flight;
  std::unique_ptr<pending_event> work;
  promise<std::unique_ptr<starling::detail::foreign_work>> over;
};

/// Returns a future of `point`. `source` is the queue of `point` if known.
[[nodiscard]] inline future<void> follow(::sycl::event point, std::optional<::sycl::queue> source,
                                         std::optional<async_errors> errors) {
  runtime& rt = require_runtime();
  require_status(point);
  auto work =
      std::make_unique<pending_event>(std::move(point), std::move(source), std::move(errors));
  if (starling::detail::completes_by_callback(rt.options())) {
    const ::sycl::event after = work->point();
    const auto told = std::make_shared<told_by_host_task>(rt, std::move(work));
    future<void> result = starling::detail::finish_when_over(rt, told->over.get_future());
    try {
      if (call_after(after, [told] { told->tell(); })) return result;
    } catch (...) {
      told->work.reset();  // else the destructor delivers it and a task waits for it
      throw;
    }
    work = std::move(told->work);
  }
  return starling::detail::watch(rt, std::move(work));
}

inline void require_in_order(const ::sycl::queue& work, const char* call) {
  if (work.is_in_order()) return;
  throw usage_error(std::string("sycl::") + call +
                    " of an out-of-order queue: work in it has no common end; make the queue with "
                    "sycl::property::queue::in_order, or use the event of each submission");
}

}  // namespace detail

/// Returns a future that is ready when `point` is complete; any queue, any context. A
/// default-constructed event is complete.
[[nodiscard]] inline future<void> get_future(const ::sycl::event& point,
                                             std::optional<async_errors> errors = {}) {
  return detail::follow(point, {}, std::move(errors));
}

/// Returns a future of all work submitted to `work` so far. With DPC++ it submits a barrier, which
/// the event of the last submission would not cost. @throws usage_error for an out-of-order queue
[[nodiscard]] inline future<void> get_future(::sycl::queue work,
                                             std::optional<async_errors> errors = {}) {
  detail::require_in_order(work, "get_future");
  ::sycl::event end = detail::end_of(work);
  return detail::follow(std::move(end), std::move(work), std::move(errors));
}

/// An in-order queue whose submissions return futures. Copies share the queue. As thread-safe as
/// `sycl::queue`.
///
///     starling::sycl::executor on;                                // the default device
///     co_await on.async(&::sycl::queue::memcpy, dst, src, bytes);
///     future<void> f = on.async([&](::sycl::queue& q) { return q.parallel_for(n, kernel); });
class executor {
 public:
  /// Creates a queue whose asynchronous errors are delivered to its futures.
  explicit executor(const ::sycl::device& target = ::sycl::device(::sycl::default_selector_v))
      : m_errors(async_errors()), m_queue(target, *m_errors, ::sycl::property::queue::in_order()) {}
  /// Uses an existing queue. @throws usage_error for an out-of-order queue
  explicit executor(::sycl::queue work, std::optional<async_errors> errors = {})
      : m_errors(std::move(errors)), m_queue(std::move(work)) {
    detail::require_in_order(m_queue, "executor");
  }

  [[nodiscard]] ::sycl::queue& queue() noexcept { return m_queue; }

  /// Calls `f(queue&, arguments…)`, which submits work and returns its event or nothing, and
  /// returns a future of all work submitted to the queue so far. `f` may be a member function of
  /// `sycl::queue` with all parameters, or (next overloads) without the last parameter that an
  /// implementation adds. @throws sycl::exception what the submission throws
  template <class F, class... Arguments>
  requires std::invocable<F, ::sycl::queue&, Arguments...>
  [[nodiscard]] future<void> async(F&& f, Arguments&&... arguments) {
    using result = std::invoke_result_t<F, ::sycl::queue&, Arguments...>;
    static_cast<void>(detail::require_runtime());
    if constexpr (std::is_same_v<std::remove_cvref_t<result>, ::sycl::event>)
      return follow(
          std::invoke(std::forward<F>(f), m_queue, std::forward<Arguments>(arguments)...));
    else
      return post(std::forward<F>(f), std::forward<Arguments>(arguments)...),
             get_future(m_queue, m_errors);
  }
  /// As async without a future.
  template <class F, class... Arguments>
  requires std::invocable<F, ::sycl::queue&, Arguments...>
  void post(F&& f, Arguments&&... arguments) {
    static_cast<void>(
        std::invoke(std::forward<F>(f), m_queue, std::forward<Arguments>(arguments)...));
  }

  /// Calls a member function given by its address: the overload whose parameter types are exactly
  /// the argument types without references.
  template <class... Arguments>
  [[nodiscard]] future<void> async(
      std::type_identity_t<detail::queue_member<std::remove_cvref_t<Arguments>...>> member,
      Arguments&&... arguments) {
    static_cast<void>(detail::require_runtime());
    return follow(detail::call_member(m_queue, member, std::forward<Arguments>(arguments)...));
  }
  template <class... Arguments>
  void post(std::type_identity_t<detail::queue_member<std::remove_cvref_t<Arguments>...>> member,
            Arguments&&... arguments) {
    detail::call_member(m_queue, member, std::forward<Arguments>(arguments)...);
  }

  /// Overloads for `&sycl::queue::memcpy`, whose arguments convert: any pointers, any integer.
  [[nodiscard]] future<void> async(detail::queue_member<void*, const void*, std::size_t> member,
                                   void* dst, const void* src, std::size_t bytes) {
    static_cast<void>(detail::require_runtime());
    return follow(detail::call_member(m_queue, member, dst, src, bytes));
  }
  void post(detail::queue_member<void*, const void*, std::size_t> member, void* dst,
            const void* src, std::size_t bytes) {
    detail::call_member(m_queue, member, dst, src, bytes);
  }
  /// Overloads for `&sycl::queue::memset`.
  [[nodiscard]] future<void> async(detail::queue_member<void*, int, std::size_t> member, void* dst,
                                   int value, std::size_t bytes) {
    static_cast<void>(detail::require_runtime());
    return follow(detail::call_member(m_queue, member, dst, value, bytes));
  }
  void post(detail::queue_member<void*, int, std::size_t> member, void* dst, int value,
            std::size_t bytes) {
    detail::call_member(m_queue, member, dst, value, bytes);
  }

 private:
  [[nodiscard]] future<void> follow(::sycl::event point) {
    return detail::follow(std::move(point), m_queue, m_errors);
  }

  std::optional<async_errors> m_errors;
  ::sycl::queue m_queue;
};

}  // namespace starling::sycl
