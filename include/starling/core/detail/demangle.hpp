// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <typeinfo>

namespace starling::detail {

/// A symbol as it stands in the source; to be freed. Null when it is none, or for want of memory.
[[nodiscard]] char* demangled_copy(const char* symbol) noexcept;

/// The same, or the symbol itself.
[[nodiscard]] std::string demangle(const char* symbol);
[[nodiscard]] inline std::string demangle(const std::type_info& type) {
  return demangle(type.name());
}

}  // namespace starling::detail
