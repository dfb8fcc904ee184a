// SPDX-License-Identifier: Apache-2.0
#include <starling/core/detail/error_text.hpp>

namespace starling::detail {

std::string error_text(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& e) {
    return e.what();
  } catch (...) {
    return "an exception that is no std::exception";
  }
}

}  // namespace starling::detail
