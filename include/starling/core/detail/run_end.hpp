// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace starling::detail {

class worker;

/// Whether the run of the calling worker's runtime has ended by an error or by `exit_run`, and no
/// thread has begun another one since. On a worker.
[[nodiscard]] bool run_has_ended() noexcept;

/// Whether the program has nothing more to do in this run: rest then waits for one sleep of each
/// coroutine, as the end of the runtime does, and not for those that sleep again and again. Any
/// thread; `of`: a worker of the runtime.
void set_run_finishes(worker& of, bool finishes) noexcept;

}  // namespace starling::detail
