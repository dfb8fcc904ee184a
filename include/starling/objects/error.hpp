// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <string>
#include <utility>

#include <starling/core/error.hpp>

namespace starling {

/// An entry method threw and nobody waits for its result. The message names the chare, the method
/// and what was thrown.
class entry_error : public error {
 public:
  entry_error(const std::string& message, std::exception_ptr cause)
      : error(message), m_cause(std::move(cause)) {}
  /// What was thrown.
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
/// and is that of the exception.
class remote_error : public error {
 public:
  using error::error;
};

/// Bytes that are not what was packed, too few or too many of them, or a value that cannot be
/// packed. The message says what was read or written, at which byte, and how many were left.
class archive_error : public error {
 public:
  using error::error;
};

}  // namespace starling
