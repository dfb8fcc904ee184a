// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <charconv>
#include <concepts>
#include <string>
#include <system_error>

#include <starling/core/error.hpp>
#include <starling/core/options.hpp>

namespace starling::detail {

/// Returns the number that option `name` has, from `least` to `most`. `otherwise`: end of the error
/// message, such as "is not a number from 1 to 9". @throws option_error
template <std::unsigned_integral Number>
[[nodiscard]] Number number_option(const runtime_options& options, const std::string& name,
                                   const std::string& fallback, Number least, Number most,
                                   const std::string& otherwise) {
  const std::string text = options.get(name, fallback);
  const char* const last = text.data() + text.size();
  Number number = 0;
  const auto [end, status] = std::from_chars(text.data(), last, number);
  if (status == std::errc() && end == last && number >= least && number <= most) return number;
  std::string variable = "STARLING_";
  for (const char c : name) variable += c == '-' ? '_' : c >= 'a' && c <= 'z' ? char(c - 32) : c;
  throw option_error("--starling-" + name + " (or " + variable + "): '" + text + "' " + otherwise);
}

}  // namespace starling::detail
