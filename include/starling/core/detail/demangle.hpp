// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <typeinfo>

namespace starling::detail {

/// Returns a symbol as written in the source, to be freed by `free`. Null if `symbol` cannot be
/// demangled or the allocation fails.
[[nodiscard]] char* demangled_copy(const char* symbol) noexcept;

/// Returns a symbol as written in the source, or `symbol` itself if it cannot be demangled.
[[nodiscard]] std::string demangle(const char* symbol);
[[nodiscard]] inline std::string demangle(const std::type_info& type) {
  return demangle(type.name());
}

}  // namespace starling::detail
