// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <istream>
#include <vector>

namespace starling::launch {

inline constexpr const char* resize_summary =
    "Continue a running job on another number of ranks, from its next checkpoint";

/// Runs `starling resize`; `argv[0]` is the word `resize`. Returns the exit code: 0, 1 if the job
/// was not resized, 2 for a wrong command line.
[[nodiscard]] int run_resize(int argc, char** argv);

/// Returns the launchers of `user` that listen according to `sockets`, which has the lines of
/// /proc/net/unix. In ascending order.
[[nodiscard]] std::vector<pid_t> launchers_in(std::istream& sockets, uid_t user);

}  // namespace starling::launch
