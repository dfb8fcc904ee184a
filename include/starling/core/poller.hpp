// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <starling/core/detail/promise_base.hpp>

namespace starling {

/// A source of completions that workers poll between tasks: device streams, network, timers.
///
/// Modules, not users, install pollers with `runtime::add_poller`. One thread polls at a time.
class poller {
 public:
  virtual ~poller() = default;

  /// Appends each coroutine whose wait is over. Runs no user code and must not block: the scheduler
  /// makes the coroutines ready after the call, pinned coroutines on their home workers.
  virtual void poll(detail::ready_list& ready) noexcept = 0;

  /// Returns the number of operations in flight that will make a coroutine ready. While it is not 0
  /// for every poller, the run is not hung. Any thread.
  [[nodiscard]] virtual std::size_t in_flight() const noexcept = 0;

  /// Returns whether some completions are detected only by polling, so that a worker must stay
  /// awake. False if each completion wakes a worker. Any thread.
  [[nodiscard]] virtual bool needs_polling() const noexcept { return in_flight() != 0; }

  /// Returns the time at which the next poll is due even without `needs_polling`: steady clock ns,
  /// 0 for never. A sleeping worker wakes up for it.
  [[nodiscard]] virtual std::uint64_t next_deadline() const noexcept { return 0; }
};

}  // namespace starling
