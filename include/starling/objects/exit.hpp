// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <starling/core/error.hpp>
#include <starling/core/runtime.hpp>
#include <starling/core/task.hpp>

namespace starling {

/// Somebody called `exit_run`. Thrown to who waits for the run.
class run_exited : public error {
 public:
  explicit run_exited(int status);
  [[nodiscard]] int status() const noexcept { return m_status; }

 private:
  int m_status;
};

/// Ends the run from any task or entry method: `sync_wait` throws `run_exited`. Returns at once;
/// the caller goes on to its end, messages to chares are dropped from now on (who waits for their
/// answers gets broken_promise), and coroutines that wait for them unwind when the runtime ends.
/// @throws usage_error on a thread that is no worker
void exit_run(int status = 0);

/// Runs a program on all ranks of its job: those that a launcher has started together, or this one
/// alone. `main_task` runs on rank 0, to its end or until somebody calls `exit_run`; the others
/// work for it. Returns its result (0 of a task<>), or the status of `exit_run`, on all ranks, when
/// none has anything left to do (tasks that sleep again and again hold it up; where there is one
/// rank, they do not):
///
///     int main(int argc, char** argv) { runtime rt(argc, argv); return run(rt, start(rt)); }
///
/// Once in a program's life where there are several ranks. An error ends the run on all ranks,
/// although their workers are busy; rank 0 throws it, the others return 1. Where no `catch` takes
/// it, the program ends with one line on stderr, buffered output written, and status 1.
/// @throws rank_failure on all that are left when one has
/// gone; bootstrap_error, usage_error when the ranks cannot work together, or arrays were made
/// before
[[nodiscard]] int run(runtime& rt, task<int> main_task);
[[nodiscard]] int run(runtime& rt, task<> main_task);

class transport;
/// The same over a network of one's own, which outlives the runtime: its workers may still hold or
/// send messages when this returns.
[[nodiscard]] int run(runtime& rt, transport& network, task<int> main_task);

}  // namespace starling
