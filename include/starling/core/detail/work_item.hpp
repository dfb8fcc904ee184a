// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <coroutine>
#include <cstddef>

#include <starling/core/detail/promise_base.hpp>

namespace starling::detail {

/// Work that is no coroutine but waits its turn in a worker's queues like one: a message.
///
/// It begins as a coroutine's frame does (the function that resumes it, the one that destroys it,
/// the promise), so that the scheduler needs to know of one kind of work only. The first function
/// runs once, on the worker, and disposes of the item; the second is for work that never ran.
class work_item {
 public:
  using function = void (*)(void* item) noexcept;

  /// `name` is what the trace calls it.
  work_item(function to_run, function to_drop, const source_mark& name) noexcept
      : m_run(to_run), m_drop(to_drop) {
    m_queued.kind.store(await_kind::ready, std::memory_order_relaxed);
    m_queued.created = name;
  }
  work_item(const work_item&) = delete;
  work_item& operator=(const work_item&) = delete;

  [[nodiscard]] promise_base& queued() noexcept { return m_queued; }
  [[nodiscard]] static work_item& of(promise_base& queued) noexcept {
    return *static_cast<work_item*>(queued.handle().address());
  }
  /// Instead of running it.
  void discard() noexcept { m_drop(this); }

 private:
  [[maybe_unused]] function m_run;  // called as a frame's first function
  function m_drop;
  promise_base m_queued;
};

static_assert(alignof(promise_base) <= 2 * sizeof(void*), "the promise follows the two functions");

}  // namespace starling::detail
