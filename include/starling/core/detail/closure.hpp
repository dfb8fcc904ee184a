// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <type_traits>

#include <starling/core/detail/compiler.hpp>

namespace starling::detail {

/// The type's name as g++ or clang spells it, at the end of what else they say.
template <class T>
constexpr const char* spelled() noexcept {
  return __PRETTY_FUNCTION__;
}

template <class T>
constexpr bool is_lambda() noexcept {
  const std::string_view name = spelled<T>();
  const auto begin = name.rfind("<lambda(");
  // Not one that is only an argument of the template whose name this is.
  if (begin == name.npos) return name.find("[T = (lambda at ") != name.npos;
  return name.substr(begin).ends_with(")>]");
}

/// The class of what the constructor of a promise is given first. g++ 12 deduces a reference to a
/// reference where that is the object of a lambda, or `*this`.
template <class T>
using coroutine_object = std::remove_cvref_t<std::remove_cvref_t<T>>;

/// Whether that is the lambda whose coroutine it is, where misuse is looked for. A parameter comes
/// as an lvalue. clang 16 gives a promise the parameters only.
template <class T>
concept lambda_of_coroutine =
    looks_for_misuse && !std::is_lvalue_reference_v<T> && is_lambda<coroutine_object<T>>();

/// Captures lie in the lambda, not in the coroutine's frame.
template <class Lambda>
inline constexpr bool has_captures = !std::is_empty_v<coroutine_object<Lambda>>;

}  // namespace starling::detail
