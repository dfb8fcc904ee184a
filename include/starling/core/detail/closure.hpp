// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <type_traits>

#include <starling/core/detail/compiler.hpp>

namespace starling::detail {

template <class T>
constexpr bool is_lambda() noexcept {
  const std::string_view name = __PRETTY_FUNCTION__;  // ends with the name of T
  const auto begin = name.rfind("<lambda(");
  // A lambda that is only a template argument of T does not count.
  if (begin == name.npos) return name.find("[T = (lambda at ") != name.npos;
  return name.substr(begin).ends_with(")>]");
}

/// The class of the first argument of a promise's constructor. g++ 12 deduces a reference to a
/// reference if that argument is the object of a lambda, or `*this`.
template <class T>
using coroutine_object = std::remove_cvref_t<std::remove_cvref_t<T>>;

/// Whether that argument is the lambda whose call is the coroutine, in builds that check for
/// misuse. A parameter of the coroutine is an lvalue. clang 16 passes the parameters only.
template <class T>
concept lambda_of_coroutine =
    looks_for_misuse && !std::is_lvalue_reference_v<T> && is_lambda<coroutine_object<T>>();

/// Whether a lambda has captures, which are stored in the lambda, not in the coroutine's frame.
template <class Lambda>
inline constexpr bool has_captures = !std::is_empty_v<coroutine_object<Lambda>>;

}  // namespace starling::detail
