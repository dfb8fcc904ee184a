// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string_view>

#include <starling/core/detail/demangle.hpp>

#include "cuda_timeline.hpp"

namespace starling::detail {
namespace {

/// Returns the position of the first `stop` outside all brackets, or the end.
std::size_t end_of(std::string_view text, char stop) {
  constexpr std::string_view nameless = "(anonymous namespace)";
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (depth == 0 && text.substr(i, nameless.size()) == nameless)
      i += nameless.size() - 1;
    else if (depth == 0 && c == stop)
      return i;
    else if (c == '<' || c == '(')
      ++depth;
    else if (c == '>' || c == ')')
      --depth;
  }
  return text.size();
}

}  // namespace

std::string readable_kernel(const char* symbol) {
  constexpr std::string_view result = "void ", ours = "starling::cuda::detail::run_";
  const std::string whole = demangle(symbol);
  std::string_view name = whole;
  if (name.substr(0, result.size()) == result) name.remove_prefix(result.size());
  if (name.substr(0, ours.size()) == ours) {
    const std::size_t begin = end_of(name, '<') + 1;
    std::string_view kernel = name.substr(std::min(begin, name.size()));
    kernel = kernel.substr(0, end_of(kernel, '>'));
    return std::string(kernel.substr(0, kernel.find_last_not_of(' ') + 1));  // "a<b>" of "<a<b> >"
  }
  return std::string(name.substr(0, end_of(name, '(')));
}

}  // namespace starling::detail
