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

#include "net/bootstrap/local/unique_fd.hpp"

namespace starling::launch {

/// What all ranks get, and what the launcher had changed for itself.
struct start_settings {
  std::vector<std::string> program;
  std::vector<std::string> variables;  ///< NAME=value, in place of those of the environment
  int ranks = 1;
  std::size_t cores = 1;  ///< that they share
  sigset_t signals{};     ///< the mask to start with
  rlimit open_files{};
  int failed_starts = -1;  ///< a pipe, closed by exec, that takes a start_failure
};

struct start_failure {
  int rank;
  int number;  ///< errno
};

/// The descriptors and processors of one rank; -1 leaves a descriptor as it is.
struct rank_settings {
  int rank = 0;
  int input = -1;
  int output = -1;
  int errors = -1;
  std::optional<cpu_set_t> processors;
};

/// Starts a rank in a process group of its own; it dies with the launcher. Returns its pid.
/// @throws bootstrap_error when there can be no more processes
[[nodiscard]] pid_t start_rank(const start_settings& all, const rank_settings& mine);

/// Whether all threads of a process are on their way out: its end, and what it dies of, will be
/// known in a moment. Others may already see that its memory and files are gone.
[[nodiscard]] bool is_exiting(pid_t process);

}  // namespace starling::launch
