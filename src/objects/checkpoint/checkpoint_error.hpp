// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <starling/core/error.hpp>

namespace starling::detail {

/// The cause of a refused or failed checkpoint.
enum class checkpoint_fault {
  io,        ///< the operating system refused a call; `code` is its errno
  torn,      ///< a file is missing or shorter than its writer left it
  damaged,   ///< a checksum or a length is wrong
  foreign,   ///< the file has another format, or another byte order
  newer,     ///< a later version of the format
  mismatch,  ///< a valid file of another checkpoint
};

/// A checkpoint that could not be written, or that was refused. The message names the file, the
/// fault and, for `io`, the operation and the remedy.
class checkpoint_error : public error {
 public:
  checkpoint_error(checkpoint_fault fault, const std::string& message, int code = 0)
      : error(message), m_fault(fault), m_code(code) {}
  [[nodiscard]] checkpoint_fault fault() const noexcept { return m_fault; }
  /// errno of the failed call; 0 for other faults.
  [[nodiscard]] int code() const noexcept { return m_code; }

 private:
  checkpoint_fault m_fault;
  int m_code;
};

/// Throws checkpoint_error: `operation` on `path` failed with `code` (errno).
[[noreturn]] void throw_file_failure(const char* operation, const std::string& path, int code);

/// Throws checkpoint_error: the file `path` is refused for the reason `why`.
[[noreturn]] void refuse(checkpoint_fault fault, const std::string& path, const std::string& why);

}  // namespace starling::detail
