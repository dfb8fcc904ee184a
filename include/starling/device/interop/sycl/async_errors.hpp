// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include <sycl/sycl.hpp>

#include <starling/core/error.hpp>

namespace starling::sycl {

/// An `async_handler` that stores the first asynchronous error of a queue, such as an exception of
/// a host task, for the queue's futures. Copies share the stored error. Thread-safe.
///
///     starling::sycl::async_errors errors;
///     ::sycl::queue work(device, errors, ::sycl::property::queue::in_order());
///     co_await starling::sycl::get_future(work, errors);   // throws device_error
class async_errors {
 public:
  async_errors() : m_kept(std::make_shared<kept>()) {}

  /// Called by SYCL, on any thread that requests the errors of any queue.
  void operator()(::sycl::exception_list errors) const {
    const std::lock_guard lock(m_kept->mutex);
    for (const std::exception_ptr& e : errors)
      if (!m_kept->first) m_kept->first = e;
  }

  /// The result of a request for errors.
  struct answer {
    std::exception_ptr own;      ///< the error stored here, as a `device_error`, or null
    std::exception_ptr strange;  ///< the exception of another queue's handler, or null
  };

  /// Requests SYCL's errors by `ask()`, a call of `throw_asynchronous` or `wait_and_throw`, then
  /// removes and returns the error stored here. SYCL may run the handlers of all queues that have
  /// errors.
  template <class Ask>
  [[nodiscard]] answer take(Ask ask) const noexcept {
    answer found;
    try {
      // SYCL takes the errors of all queues and then calls the handlers in turn: a concurrent
      // request would find no errors before the handlers have stored them.
      const std::lock_guard one_at_a_time(s_asking);
      ask();
    } catch (...) {
      found.strange = std::current_exception();
    }
    const std::lock_guard lock(m_kept->mutex);
    if (m_kept->first) found.own = as_device_error(std::exchange(m_kept->first, nullptr));
    return found;
  }

 private:
  struct kept {
    std::mutex mutex;
    std::exception_ptr first;
  };

  static std::exception_ptr as_device_error(const std::exception_ptr& error) noexcept {
    try {
      throw_as_device_error(error);
    } catch (...) {  // the device_error, or std::bad_alloc of its message
      return std::current_exception();
    }
  }
  [[noreturn]] static void throw_as_device_error(const std::exception_ptr& error) {
    try {
      std::rethrow_exception(error);
    } catch (const ::sycl::exception& e) {
      throw device_error(std::string("SYCL: queued work failed: ") + e.what(), e.code().value());
    } catch (const std::exception& e) {
      throw device_error(std::string("SYCL: a host task threw: ") + e.what());
    } catch (...) {
      throw device_error("SYCL: a host task threw an exception");
    }
  }

  inline static std::mutex s_asking;
  std::shared_ptr<kept> m_kept;
};

}  // namespace starling::sycl
