// SPDX-License-Identifier: Apache-2.0
#include <starling/core/detail/demangle.hpp>

#include <cxxabi.h>
#include <cstdlib>
#include <memory>

namespace starling::detail {

char* demangled_copy(const char* symbol) noexcept {
  int status = 0;
  return abi::__cxa_demangle(symbol, nullptr, nullptr, &status);
}

std::string demangle(const char* symbol) {
  const std::unique_ptr<char, decltype(&std::free)> readable(demangled_copy(symbol), &std::free);
  return readable ? readable.get() : symbol;
}

}  // namespace starling::detail
