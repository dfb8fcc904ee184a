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

/// Runs `main_task` to its end, or until somebody calls `exit_run`; returns the status, 0 if nobody
/// did: `int main(int argc, char** argv) { runtime rt(argc, argv); return run(rt, start(rt)); }`.
[[nodiscard]] int run(runtime& rt, task<> main_task);

}  // namespace starling
