// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <coroutine>
#include <cstdint>
#include <exception>
#include <source_location>

#include <starling/core/detail/promise_base.hpp>
#include <starling/core/detail/worker.hpp>
#include <starling/core/future.hpp>

namespace starling::detail {

class stream_state;

/// A waiter for work of a device: part of the waiting coroutine's frame, of a future's state, or of
/// a batch, which `notify` finishes.
struct device_waiter {
  enum class wait_status : std::uint8_t { waiting, over, withdrawn };

  promise_base* waiting = nullptr;  // the coroutine to make ready; null: `notify`
  // Called if `waiting` is null: fulfils a future.
  void (*notify)(device_waiter&) noexcept = nullptr;
  std::exception_ptr error;  // set before the wait ends
  wait_status result = wait_status::waiting;

  /// Suspends `c` until the wait ends. `begin()` starts the wait and returns false if it is over
  /// already; then this returns false, and `c` continues. `on`, `remove`: see mark_suspended.
  template <class Begin>
  [[nodiscard]] bool suspend(promise_base& c, const void* on, withdraw_fn remove,
                             const call_location& at, const Begin& begin) {
    waiting = &c;
    mark_suspended(c, await_kind::event, on, remove, at);
    bool waits = false;
    try {
      waits = begin();
    } catch (...) {
      forget_wait(c);
      throw;
    }
    return confirm_suspended(c, waits);
  }
  /// Notifies the waiter, which may be destroyed from then on. Pushes a coroutine to `ready`, or
  /// schedules it if `ready` is null. Called without a lock.
  void end_wait(wait_status how, ready_list* ready = nullptr) noexcept {
    result = how;
    if (waiting == nullptr)
      notify(*this);
    else if (ready != nullptr)
      ready->push(*waiting);
    else
      schedule(*waiting);
  }
};

/// A waiter for a mark of a stream; linked into the stream's list under the stream's wait lock.
struct completion_node : device_waiter {
  completion_node* next = nullptr;
  std::uint64_t sequence = 0;  // number of the awaited mark
  std::uint64_t after = 0;     // errors up to this mark belong to earlier users of the stream
};

/// Requests a mark after all operations submitted to `s` so far and links `node`. Returns false if
/// the mark has been passed or the stream has failed (see `node.error`): `node` is then not linked.
/// @throws device_error when the mark is refused
[[nodiscard]] bool subscribe(stream_state& s, completion_node& node);
/// Unlinks a node. Returns false if its waiter is being notified or has been notified already.
[[nodiscard]] bool withdraw(stream_state& s, completion_node& node) noexcept;

}  // namespace starling::detail

namespace starling {

/// Waits until all operations submitted to a stream before the wait are complete; rethrows their
/// error. The node is part of the awaiting frame: no allocation.
class [[nodiscard]] completion_awaiter {
 public:
  using value_type = void;

  explicit completion_awaiter(detail::stream_state& s) noexcept : m_stream(&s) {}

  bool await_ready() const noexcept { return false; }

  template <detail::runtime_promise Promise>
  bool await_suspend(std::coroutine_handle<Promise> h, const detail::call_location& at = {}) {
    return m_node.suspend(h.promise(), this, &withdraw_waiter, at,
                          [this] { return detail::subscribe(*m_stream, m_node); });
  }

  /// @throws device_error
  void await_resume() {
    if (m_node.result == detail::device_waiter::wait_status::waiting) [[unlikely]]
      detail::throw_interrupted();
    if (m_node.error) [[unlikely]]
      std::rethrow_exception(m_node.error);
  }

 private:
  static bool withdraw_waiter(detail::promise_base& c) noexcept {
    auto& self = detail::awaited_object<completion_awaiter>(c);
    return detail::withdraw(*self.m_stream, self.m_node);
  }

  detail::stream_state* m_stream;
  detail::completion_node m_node;
};

}  // namespace starling
