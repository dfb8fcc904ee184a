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

/// Somebody who waits until a stream has passed a mark. Lives in the waiting coroutine's frame or
/// in the state of a future; linked into the stream's list under its lock.
struct completion_node {
  enum class outcome : std::uint8_t { waiting, passed };

  completion_node* next = nullptr;
  std::uint64_t sequence = 0;       // of its batch
  std::uint64_t after = 0;          // batches up to here were of others, who had the stream before
  promise_base* waiting = nullptr;  // a coroutine to make ready, or
  void (*notify)(completion_node&) noexcept = nullptr;  // a future to fulfil
  std::exception_ptr error;                             // set before the hand-over
  outcome result = outcome::waiting;
};

/// Marks everything submitted to `s` so far and adds `node`. False: it has passed already (or
/// failed: see `node.error`), nothing was added. @throws device_error when the mark is refused
[[nodiscard]] bool subscribe(stream_state& s, completion_node& node);
/// Takes a node back. False: it has been handed over.
[[nodiscard]] bool withdraw(stream_state& s, completion_node& node) noexcept;

}  // namespace starling::detail

namespace starling {

/// Waits until everything submitted to a stream before the wait began is over. Takes its error.
///
/// The node is a part of the awaiting frame: no allocation.
class [[nodiscard]] completion_awaiter {
 public:
  using value_type = void;

  explicit completion_awaiter(detail::stream_state& s) noexcept : m_stream(&s) {}

  bool await_ready() const noexcept { return false; }

  template <detail::runtime_promise Promise>
  bool await_suspend(std::coroutine_handle<Promise> h, const detail::source_mark& at = {}) {
    detail::promise_base& c = h.promise();
    m_node.waiting = &c;
    detail::mark_suspended(c, await_kind::event, this, &detach, at);
    bool waits = false;
    try {
      waits = detail::subscribe(*m_stream, m_node);
    } catch (...) {
      go_on(c);
      throw;
    }
    if (!waits) go_on(c);
    return waits;
  }

  /// @throws device_error
  void await_resume() {
    if (m_node.result == detail::completion_node::outcome::waiting) [[unlikely]]
      detail::throw_interrupted();
    if (m_node.error) [[unlikely]]
      std::rethrow_exception(m_node.error);
  }

 private:
  /// The record of a wait that did not come about must not outlive the awaiter.
  static void go_on(detail::promise_base& c) noexcept {
    c.kind.store(await_kind::running, std::memory_order_relaxed);
  }
  static bool detach(detail::promise_base& c) noexcept {
    const void* on = c.on.load(std::memory_order_relaxed);
    auto& self = *static_cast<completion_awaiter*>(const_cast<void*>(on));
    return detail::withdraw(*self.m_stream, self.m_node);
  }

  detail::stream_state* m_stream;
  detail::completion_node m_node;
};

}  // namespace starling
