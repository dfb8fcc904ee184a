// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace starling::launch {

inline constexpr const char* balance_summary =
    "Show what load balancers do with recorded or synthetic loads";

/// Runs `starling balance`; `argv[0]` is the word `balance`. Returns the exit code: 0, 1 if a file
/// cannot be read, understood or written, 2 for a wrong command line.
[[nodiscard]] int run_balance(int argc, char** argv);

}  // namespace starling::launch
