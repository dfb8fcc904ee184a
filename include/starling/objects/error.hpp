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

}  // namespace starling
