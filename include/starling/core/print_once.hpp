// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace starling {

/// Prints `line` and a line break on stderr, unless another rank of the same `starling launch` has
/// printed the same line. For programs that print option errors themselves, as all ranks detect the
/// same error. A process that `starling launch` has not started always prints. Waits while another
/// rank prints. Any thread.
void print_once_per_job(const std::string& line) noexcept;

}  // namespace starling
