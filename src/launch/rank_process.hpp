// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sched.h>
#include <sys/resource.h>
#include <sys/types.h>

#include <csignal>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace starling::launch {

/// Settings common to all ranks, and process attributes that the launcher changed for itself.
struct start_settings {
  std::vector<std::string> program;
  std::vector<std::string> variables;  ///< NAME=value; replace those of the environment
  int ranks = 1;
  std::size_t cores = 1;  ///< shared by all ranks
  sigset_t signals{};     ///< signal mask at the program's start
  rlimit open_files{};
  int failed_starts = -1;  ///< pipe for the errno of a failed exec; closed by exec
};

/// Descriptors and processors of one rank; -1 leaves a descriptor unchanged.
struct rank_settings {
  int rank = 0;
  int input = -1;
  int output = -1;
  int errors = -1;
  std::optional<cpu_set_t> processors;
};

/// Starts a rank in its own process group and returns its pid. The kernel kills the rank when the
/// launcher ends. @throws bootstrap_error if no process can be created
[[nodiscard]] pid_t start_rank(const start_settings& all, const rank_settings& mine);

/// Returns whether all threads of a process are exiting, so that its exit status follows soon.
/// Other processes may already find its memory and files released.
[[nodiscard]] bool is_exiting(pid_t process);

/// Returns whether a process is stopped by a signal.
[[nodiscard]] bool is_stopped(pid_t process);

}  // namespace starling::launch
