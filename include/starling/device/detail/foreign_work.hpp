// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include <starling/core/future.hpp>
#include <starling/core/runtime.hpp>

namespace starling::detail {

/// Work that somebody else's runtime does and that can only be asked whether it is over.
class foreign_work {
 public:
  virtual ~foreign_work() = default;
  /// Cheap: asked between tasks, by one worker at a time, until it says yes or throws. Nobody else
  /// polls meanwhile, so it runs no code of users.
  /// @throws what made the work fail; its future gets that
  [[nodiscard]] virtual bool is_over() = 0;
  /// Once it is over, in a task of its own: finds out how it went.
  /// @throws what made the work fail; its future gets that
  virtual void finish() {}
};

/// A future for `work`, which `rt` asks between tasks: one call for each piece of work in each
/// poll. While any is under way one worker stays awake and the run does not count as hung. `work`
/// is destroyed on a worker when it is over. Any thread. @throws std::bad_alloc
[[nodiscard]] future<void> watch(runtime& rt, std::unique_ptr<foreign_work> work);

/// The same for work that somebody else hands over once it is over. @throws std::bad_alloc
[[nodiscard]] future<void> finish_when_over(runtime& rt,
                                            future<std::unique_ptr<foreign_work>> over);

}  // namespace starling::detail
