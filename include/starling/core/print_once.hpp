// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace starling {

/// Prints `line` and a line break on stderr, unless another rank that `starling launch` has started
/// has printed the same. For programs that print option errors themselves: all ranks find the same
/// option wrong. A process that is no such rank always prints. Waits while another rank prints. Any
/// thread.
void print_once_per_job(const std::string& line) noexcept;

}  // namespace starling
