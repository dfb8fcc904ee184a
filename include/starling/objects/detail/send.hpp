// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <utility>

#include <starling/core/detail/frame_pool.hpp>
#include <starling/core/detail/function_ref.hpp>
#include <starling/core/detail/work_item.hpp>
#include <starling/core/detail/worker.hpp>

namespace starling::detail {

/// Pins `item` to a worker and returns its queue link.
[[nodiscard]] inline promise_base& addressed(worker& to, work_item& item,
                                             starling::priority priority) noexcept {
  promise_base& q = item.queued();
  q.home = &to;
  q.pinned = true;
  q.priority = priority;
  return q;
}

/// Deleter that discards a message at the end of a scope.
struct discard_message {
  void operator()(work_item* m) const noexcept { m->discard(); }
};

/// Sends `item` to a worker, behind all items of the same priority that the calling thread sent it.
inline void send(worker& to, work_item& item, starling::priority priority) noexcept {
  schedule(addressed(to, item, priority));
}

/// Resumes a coroutine of this worker. Not called from a coroutine.
inline void resume_here(promise_base& c) noexcept {
  c.kind.store(await_kind::running, std::memory_order_relaxed);
  c.handle().resume();
}
/// Processes a message at once.
inline void perform(work_item& m) noexcept { resume_here(m.queued()); }

/// Ends the run as `end_run` does, and closes the existing arrays: messages to them are dropped.
void end_run_and_close(worker& here, const std::exception_ptr& error) noexcept;

/// Calls f(). An exception, such as std::bad_alloc for a message, ends the run.
void or_end_run(worker& here, function_ref<void()> f) noexcept;

inline constexpr named_location call_name{"", "starling: arrays"};

/// A message that calls a function once, on the receiving worker. An exception ends the run.
template <class F>
class call_message final : public work_item, public pooled<block_kind::state> {
 public:
  [[gnu::always_inline]] explicit call_message(F f)
      : work_item(&run, &drop, &call_name), m_function(std::move(f)) {}

 private:
  static void run(void* item) noexcept {
    auto* self = static_cast<call_message*>(item);
    or_end_run(*self->queued().home, self->m_function);
    delete self;
  }
  static void drop(void* item) noexcept { delete static_cast<call_message*>(item); }
  F m_function;
};

/// Calls `f()` on a worker, by a message. @throws std::bad_alloc
template <class F>
void send_call(worker& to, F f, starling::priority priority) {
  send(to, *new call_message<F>(std::move(f)), priority);
}

}  // namespace starling::detail
