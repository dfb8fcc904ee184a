// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace starling {

/// For a program that prints option errors itself: whether another rank that `starling launch` has
/// started prints `text`, too. True once that rank has ended, so that the launcher, which then ends
/// the others, cannot cut its line off; the first rank to ask, and any other process, get false,
/// and are to print it and end. Any thread.
[[nodiscard]] bool is_told_by_another_rank(const std::string& text) noexcept;

}  // namespace starling
