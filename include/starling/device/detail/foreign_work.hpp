// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include <starling/core/future.hpp>
#include <starling/core/runtime.hpp>

namespace starling::detail {

/// Work of another library that can only be queried for completion.
class foreign_work {
 public:
  virtual ~foreign_work() = default;
  /// Returns whether the work is complete. Polled between tasks, by one worker at a time, until it
  /// returns true or throws. All other polling waits meanwhile: it must be cheap and run no user
  /// code. An exception counts as completion; `finish` then reports the cause.
  [[nodiscard]] virtual bool is_over() = 0;
  /// Determines the outcome. Called once after completion, in a separate task.
  /// @throws the error of the work, which its future receives
  virtual void finish() {}
};

/// Returns a future of `work`, which the workers of `rt` poll between tasks: one call per poll.
/// While any foreign work is incomplete, a worker stays awake and the run does not count as hung.
/// `work` is destroyed on a worker after completion. Thread-safe. @throws std::bad_alloc
[[nodiscard]] future<void> watch(runtime& rt, std::unique_ptr<foreign_work> work);

/// As `watch`, for the work that the future `over` yields. @throws std::bad_alloc
[[nodiscard]] future<void> finish_when_over(runtime& rt,
                                            future<std::unique_ptr<foreign_work>> over);

}  // namespace starling::detail
