// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <string>

namespace starling::detail {

/// Returns the text of an exception, which must not be null and may be no std::exception.
[[nodiscard]] std::string error_text(const std::exception_ptr& error);

template <class Error>
[[nodiscard]] bool is_a(const std::exception_ptr& error) noexcept {
  try {
    std::rethrow_exception(error);
  } catch (const Error&) {
    return true;
  } catch (...) {
    return false;
  }
}

}  // namespace starling::detail
