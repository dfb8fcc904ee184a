// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <string>
#include <utility>

#include <starling/core/error.hpp>

namespace starling {

/// An exception of an entry method whose result has no waiter. The message names the chare, the
/// method and the exception.
class entry_error : public error {
 public:
  entry_error(const std::string& message, std::exception_ptr cause)
      : error(message), m_cause(std::move(cause)) {}
  /// Returns the exception that the entry method threw.
  [[nodiscard]] const std::exception_ptr& cause() const noexcept { return m_cause; }

 private:
  std::exception_ptr m_cause;
};

/// A message to an element that does not exist. The message names the array, the index and the
/// entry method.
class no_such_element : public error {
 public:
  using error::error;
};

/// An exception of another rank whose type cannot be sent. The message names the rank and the type
/// and contains the exception's text.
class remote_error : public error {
 public:
  using error::error;
};

/// Packed bytes that are invalid, too few or too many, or a value that cannot be packed. The
/// message names the type that was read or written and, where possible, the byte position and
/// the number of bytes left.
class archive_error : public error {
 public:
  using error::error;
};

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
  /// errno of the failed call; 0 for other faults, and for errors of other ranks.
  [[nodiscard]] int code() const noexcept { return m_code; }

 private:
  checkpoint_fault m_fault;
  int m_code;
};

}  // namespace starling
