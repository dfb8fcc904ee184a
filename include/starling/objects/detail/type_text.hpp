// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

namespace starling::detail {

/// Returns the name that the compiler writes for the type, with its namespaces.
template <class T>
[[nodiscard]] constexpr std::string_view full_type_name() noexcept {
  std::string_view text = __PRETTY_FUNCTION__;
  text.remove_prefix(text.find("T = ") + 4);
  const std::size_t alias = text.rfind("; std::string_view = ");  // g++ appends the result type
  return text.substr(0, alias == text.npos ? text.size() - 1 : alias);
}

/// The same as a constant, evaluated by the compiler.
template <class T>
inline constexpr std::string_view type_text = full_type_name<T>();

/// The 32-bit FNV-1a hash (Fowler, Noll, Vo): the hash of no bytes, and its extension.
inline constexpr std::uint32_t empty_hash = 2166136261u;
[[nodiscard]] constexpr std::uint32_t hash_more(std::uint32_t hash,
                                                std::string_view text) noexcept {
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
  return hash;
}
[[nodiscard]] constexpr std::uint32_t hash_more(std::uint32_t hash, std::uint64_t number) noexcept {
  for (; number != 0; number >>= 8) hash = (hash ^ (number & 255)) * 16777619u;
  return (hash ^ 256) * 16777619u;
}

}  // namespace starling::detail
