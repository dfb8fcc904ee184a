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

/// A waiter for a mark of a stream. Part of the waiting coroutine's frame or of a future's state;
/// linked into the stream's list under the stream's wait lock.
struct completion_node {
  enum class wait_status : std::uint8_t { waiting, passed };

  completion_node* next = nullptr;
  std::uint64_t sequence = 0;       // number of the awaited mark
  std::uint64_t after = 0;          // errors up to this mark belong to earlier users of the stream
  promise_base* waiting = nullptr;  // the coroutine to make ready, or null:
  void (*notify)(completion_node&) noexcept = nullptr;  // then called instead, fulfils a future
  std::exception_ptr error;                             // set before the node is handed over
  wait_status result = wait_status::waiting;
};

/// Requests a mark after all operations submitted to `s` so far and links `node`. Returns false if
/// the mark has been passed or the stream has failed (see `node.error`): `node` is then not linked.
/// @throws device_error when the mark is refused
[[nodiscard]] bool subscribe(stream_state& s, completion_node& node);
/// Unlinks a node. Returns false if it has been handed over already.
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
    detail::promise_base& c = h.promise();
    m_node.waiting = &c;
    detail::mark_suspended(c, await_kind::event, this, &withdraw_waiter, at);
    bool waits = false;
    try {
      waits = detail::subscribe(*m_stream, m_node);
    } catch (...) {
      detail::forget_wait(c);
      throw;
    }
    return detail::confirm_suspended(c, waits);
  }

  /// @throws device_error
  void await_resume() {
    if (m_node.result == detail::completion_node::wait_status::waiting) [[unlikely]]
      detail::throw_interrupted();
    if (m_node.error) [[unlikely]]
      std::rethrow_exception(m_node.error);
  }

 private:
  static bool withdraw_waiter(detail::promise_base& c) noexcept {
    const void* on = c.on.load(std::memory_order_relaxed);
    auto& self = *static_cast<completion_awaiter*>(const_cast<void*>(on));
    return detail::withdraw(*self.m_stream, self.m_node);
  }

  detail::stream_state* m_stream;
  detail::completion_node m_node;
};

}  // namespace starling
