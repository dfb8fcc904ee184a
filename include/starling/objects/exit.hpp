// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <starling/core/error.hpp>
#include <starling/core/runtime.hpp>
#include <starling/core/task.hpp>

namespace starling {

/// The run was ended by `exit_run`. Thrown by `sync_wait`.
class run_exited : public error {
 public:
  explicit run_exited(int status);
  [[nodiscard]] int status() const noexcept { return m_status; }

 private:
  int m_status;
};

/// Ends the run from any task or entry method: `sync_wait` throws `run_exited`. Returns at once,
/// and the caller continues. Messages to chares are dropped from now on: waiters for their replies
/// get broken_promise, and coroutines that wait for messages unwind when the runtime ends.
/// @throws usage_error on a thread that is not a worker
void exit_run(int status = 0);

/// Runs a program on all ranks of its job: the ranks that a launcher has started together, or this
/// process alone. `main_task` runs on rank 0, to its end or until `exit_run` is called; the other
/// ranks process the messages sent to them. Returns the task's result (0 for a task<>), or the
/// status of `exit_run`, on all ranks. With several ranks it returns when no rank has work left,
/// for which tasks that sleep again and again count as work; with one rank, when the task has
/// ended:
///
///     int main(int argc, char** argv) { runtime rt(argc, argv); return run(rt, start(rt)); }
///
/// With several ranks it can be called once in a process. An error ends the run on all ranks, even
/// if their workers are busy; rank 0 throws it, the other ranks return 1. If the error is not
/// caught, the process writes its buffered output and one line on stderr and ends with status 1.
/// @throws rank_failure on all remaining ranks after a rank has failed; bootstrap_error or
/// usage_error when the ranks cannot work together; usage_error when arrays were made before
[[nodiscard]] int run(runtime& rt, task<int> main_task);
[[nodiscard]] int run(runtime& rt, task<> main_task);

class transport;
/// As above, over a given network, which must outlive the runtime: the runtime's workers may still
/// hold or send messages when this returns.
[[nodiscard]] int run(runtime& rt, transport& network, task<int> main_task);

}  // namespace starling
