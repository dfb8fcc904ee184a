// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <starling/core/detail/promise_base.hpp>

namespace starling::detail {

/// Work other than a coroutine in a worker's queues, such as a message.
///
/// It begins with the layout of a coroutine's frame (resume function, destroy function, promise),
/// so that the scheduler handles one kind of work only. The first function runs once, on the
/// worker, and disposes of the item, at once or later; the second only disposes of it.
class work_item {
 public:
  using function = void (*)(void* item) noexcept;

  /// `name`: the item's name in the trace.
  [[gnu::always_inline]] work_item(function to_run, function to_drop,
                                   const call_location& name) noexcept
      : m_run(to_run), m_drop(to_drop) {
    m_queued.kind.store(await_kind::ready, std::memory_order_relaxed);
    m_queued.created = name;
  }

  [[nodiscard]] promise_base& queued() noexcept { return m_queued; }
  [[nodiscard]] static work_item& of(promise_base& queued) noexcept {
    return *static_cast<work_item*>(queued.handle().address());
  }
  /// Disposes of the item: without running it, or after it has run.
  void discard() noexcept { m_drop(this); }

 private:
  [[maybe_unused]] function m_run;  // called as a frame's resume function
  function m_drop;
  promise_base m_queued;
};

static_assert(alignof(promise_base) <= 2 * sizeof(void*), "the promise follows the two functions");

}  // namespace starling::detail
