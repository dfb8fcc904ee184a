// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace starling::launch {

struct options {
  int ranks = 0;
  bool bind_cores = false;
  bool label = false;
  double timeout = 0;  ///< seconds, 0: none
  double grace = 5;    ///< seconds, from the failure of a rank to the end of all
  std::vector<std::string> program;
};

struct parsed {
  std::optional<options> launch;  ///< nothing where there is only an exit code
  int exit_code = 0;
};

/// Prints help and errors itself.
[[nodiscard]] parsed parse_command_line(int argc, char** argv);

}  // namespace starling::launch
