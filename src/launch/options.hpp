// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace starling::launch {

/// Options of `starling launch`.
struct options {
  int ranks = 0;
  bool bind_cores = false;
  bool label = false;
  double timeout = 0;  ///< seconds; 0: none
  double grace = 5;    ///< seconds from the failure of a rank to SIGTERM for the remaining ranks
  int restarts = 0;    ///< how often the job is started again after the loss of a rank
  bool may_restart =
      false;            ///< --restarts is given: the job may be started again, also by a resize
  bool shrink = false;  ///< after the loss of a rank, continue with one rank less
  std::vector<std::string> program;
};

/// Result of the command line.
struct parsed {
  std::optional<options> launch;  ///< not set if the launcher ends with `exit_code`
  int exit_code = 0;
};

/// Parses the command line. Prints help and errors.
[[nodiscard]] parsed parse_command_line(int argc, char** argv);

}  // namespace starling::launch
