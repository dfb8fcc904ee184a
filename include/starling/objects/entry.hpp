// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstdint>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include <starling/core/detail/promise_base.hpp>
#include <starling/core/task.hpp>

/// What an entry method is: a member of a chare that others invoke by sending it a message.
namespace starling {

/// Result type of an entry method that is declared but never defined: its messages are taken, in
/// order of arrival, by `co_await when<&T::entry>(…)` of the chare they were sent to.
struct awaited {};

namespace detail {

template <class Member>
struct method;
template <class T, class R, class... Args>
struct method<R (T::*)(Args...)> {
  using owner = T;
  using result = R;
  using arguments = std::tuple<std::decay_t<Args>...>;  // as a message holds them
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

/// `starling::detail::name_of_entry() [with auto Entry = &app::block::halo]` → `halo`.
template <auto Entry>
[[nodiscard]] constexpr std::string_view entry_name() noexcept {
  std::string_view text = __PRETTY_FUNCTION__;
  text.remove_prefix(text.find("Entry = ") + 8);
  text = text.substr(0, text.find_first_of(";]"));
  return text.substr(text.rfind("::") + 2);
}

/// The name of a chare's type without its namespaces.
template <class T>
[[nodiscard]] constexpr std::string_view type_name() noexcept {
  std::string_view text = __PRETTY_FUNCTION__;
  text.remove_prefix(text.find("T = ") + 4);
  text = text.substr(0, text.find_first_of(";]"));
  const std::size_t colon = text.substr(0, text.find('<')).rfind("::");
  return colon == text.npos ? text : text.substr(colon + 2);
}

/// `block::halo`, with a zero at the end.
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

/// Whether messages can be told apart by their first argument, a number.
template <auto Entry>
inline constexpr bool has_reference = []() {
  using arguments = typename method<decltype(Entry)>::arguments;
  if constexpr (std::tuple_size_v<arguments> == 0)
    return false;
  else
    return std::is_integral_v<std::tuple_element_t<0, arguments>> ||
           std::is_enum_v<std::tuple_element_t<0, arguments>>;
}();

/// What is known of an entry method without its type; its address identifies it.
struct entry_info {
  std::string_view name;
  made_up_place place{};  // names its messages in the trace
  bool by_reference = false;
};
template <auto Entry>
inline constexpr entry_info info_of{
    entry_name<Entry>(), {"", full_name<Entry>.data()}, has_reference<Entry>};

}  // namespace detail

/// A member function that may be an entry method of T: of T or a base of it, its parameters are no
/// references to results.
template <auto Entry, class T>
concept entry_of = std::is_member_function_pointer_v<decltype(Entry)> &&
    std::derived_from<T, typename detail::method<decltype(Entry)>::owner> &&
    detail::method<decltype(Entry)>::no_outputs;

/// Whether a message with such arguments fits the entry method: as in a call, without explicit
/// conversions.
template <auto Entry, class... Given>
concept fits_entry = detail::method<decltype(Entry)>::template takes<Given...>;

/// T says `static constexpr bool one_rank = true;`, in public: its arrays are made in programs of
/// one rank only, and what is sent to them need not be able to travel. Sending such a thing to
/// another rank all the same throws usage_error. Of a complete type.
template <class T>
concept stays_on_one_rank = requires {
  requires T::one_rank;
};

/// An argument that stays on its rank, such as a view of memory: `rank_local<std::span<double>>` as
/// a parameter of an entry method takes a span. The message must go to an element of the sender's
/// own rank; sending it to another rank throws usage_error.
template <class T>
class rank_local {
 public:
  rank_local(T value) : m_value(std::move(value)) {}  // as `T` itself is passed
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
