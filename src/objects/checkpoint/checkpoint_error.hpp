// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <starling/objects/error.hpp>

namespace starling::detail {

using starling::checkpoint_error;
using starling::checkpoint_fault;

/// Throws checkpoint_error: `operation` on `path` failed with `code` (errno).
[[noreturn]] void throw_file_failure(const char* operation, const std::string& path, int code);

/// Throws checkpoint_error: the file `path` is refused for the reason `why`.
[[noreturn]] void refuse(checkpoint_fault fault, const std::string& path, const std::string& why);

}  // namespace starling::detail
