// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include <starling/core/detail/promise_base.hpp>
#include <starling/core/task.hpp>

/// Entry methods: member functions of a chare that run when a message for them arrives.
namespace starling {

/// Result type of an entry method that is declared but never defined: coroutines of the receiving
/// chare take its messages, in order of arrival, by `co_await when<&T::entry>(…)`.
struct awaited {};

namespace detail {

template <class Member>
struct method;
template <class T, class R, class... Args>
struct method<R (T::*)(Args...)> {
  using owner = T;
  using result = R;
  using arguments = std::tuple<std::decay_t<Args>...>;  // as stored in a message
  static constexpr std::size_t count = sizeof...(Args);
  static constexpr bool all_values = (!std::is_reference_v<Args> && ...);
  static constexpr bool no_outputs =
      ((!std::is_lvalue_reference_v<Args> || std::is_const_v<std::remove_reference_t<Args>>)&&...);
  template <class... Given>
  static constexpr bool takes = []() {
    if constexpr (sizeof...(Given) == sizeof...(Args))
      return (std::is_convertible_v<Given, std::decay_t<Args>> && ...);
    else
      return false;
  }();
};
template <class T, class R, class... Args>
struct method<R (T::*)(Args...) const> : method<R (T::*)(Args...)> {};
template <class T, class R, class... Args>
struct method<R (T::*)(Args...) noexcept> : method<R (T::*)(Args...)> {};
template <class T, class R, class... Args>
struct method<R (T::*)(Args...) const noexcept> : method<R (T::*)(Args...)> {};

/// Returns `halo` for `&app::block::halo`, from the compiler's text `… [with auto Entry = …]`.
template <auto Entry>
[[nodiscard]] constexpr std::string_view entry_name() noexcept {
  std::string_view text = __PRETTY_FUNCTION__;
  text.remove_prefix(text.find("Entry = ") + 8);
  text = text.substr(0, text.find_first_of(";]"));
  return text.substr(text.rfind("::") + 2);
}

/// Returns the name of a chare's type without its namespaces.
template <class T>
[[nodiscard]] constexpr std::string_view type_name() noexcept {
  std::string_view text = __PRETTY_FUNCTION__;
  text.remove_prefix(text.find("T = ") + 4);
  text = text.substr(0, text.find_first_of(";]"));
  const std::size_t colon = text.substr(0, text.find('<')).rfind("::");
  return colon == text.npos ? text : text.substr(colon + 2);
}

/// Name of an entry method with its class, `block::halo`, null-terminated.
template <auto Entry>
inline constexpr auto full_name = []() {
  constexpr std::string_view owner = type_name<typename method<decltype(Entry)>::owner>();
  constexpr std::string_view name = entry_name<Entry>();
  std::array<char, owner.size() + 2 + name.size() + 1> text{};
  char* at = std::copy(owner.begin(), owner.end(), text.begin());
  *at++ = ':';
  *at++ = ':';
  std::copy(name.begin(), name.end(), at);
  return text;
}();

/// Whether the first argument is a number, by which `when` can select messages.
template <auto Entry>
inline constexpr bool has_reference = []() {
  using arguments = typename method<decltype(Entry)>::arguments;
  if constexpr (std::tuple_size_v<arguments> == 0)
    return false;
  else
    return std::is_integral_v<std::tuple_element_t<0, arguments>> ||
           std::is_enum_v<std::tuple_element_t<0, arguments>>;
}();

/// Bytes of the arguments of a message, without memory that they own elsewhere.
template <auto Entry>
inline constexpr std::size_t argument_bytes_of =
    method<decltype(Entry)>::count == 0 ? 0 : sizeof(typename method<decltype(Entry)>::arguments);

/// Description of an entry method that does not depend on its type. The object's address identifies
/// the method.
struct entry_info {
  std::string_view name;
  named_location trace_name{};  // of its messages
  bool by_reference = false;
};
template <auto Entry>
inline constexpr entry_info info_of{
    entry_name<Entry>(), {"", full_name<Entry>.data()}, has_reference<Entry>};

}  // namespace detail

/// A member function that can be an entry method of T: a member of T or of a base of T, without
/// parameters that are references to non-const (messages return nothing through parameters).
template <auto Entry, class T>
concept entry_of = std::is_member_function_pointer_v<decltype(Entry)> &&
    std::derived_from<T, typename detail::method<decltype(Entry)>::owner> &&
    detail::method<decltype(Entry)>::no_outputs;

/// Arguments with which the entry method can be invoked: the same number, implicitly convertible.
template <auto Entry, class... Given>
concept fits_entry = detail::method<decltype(Entry)>::template takes<Given...>;

/// A complete chare type with a public `static constexpr bool one_rank = true;`. Its arrays are
/// made in programs of one rank only, so arguments sent to them need not be able to travel. Sending
/// such an argument to another rank throws usage_error.
template <class T>
concept stays_on_one_rank = requires {
  requires T::one_rank;
};

/// An argument that stays on its rank, such as a view of memory: a parameter of type
/// `rank_local<std::span<double>>` accepts a span. The message must be for an element of the
/// sender's own rank; sending it to another rank throws usage_error.
template <class T>
class rank_local {
 public:
  rank_local(T value) : m_value(std::move(value)) {}  // implicit: senders pass a `T`
  [[nodiscard]] const T& operator*() const noexcept { return m_value; }
  [[nodiscard]] const T* operator->() const noexcept { return &m_value; }

 private:
  T m_value;
};

namespace detail {
template <class T>
inline constexpr bool is_rank_local = false;
template <class T>
inline constexpr bool is_rank_local<rank_local<T>> = true;
}  // namespace detail

}  // namespace starling
