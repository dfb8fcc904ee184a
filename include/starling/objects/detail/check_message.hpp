// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <tuple>
#include <type_traits>

#include <starling/objects/detail/must_travel.hpp>
#include <starling/objects/entry.hpp>

/// Compiler errors for messages that cannot be sent. They name the expected and the given type, and
/// nothing else.
namespace starling::detail {

template <class V>
constexpr void check_one_travels() noexcept {
  using value = std::remove_cv_t<V>;
  if constexpr (!std::is_void_v<V> && !is_rank_local<value> && !can_travel<value>()) {
    static_assert(never<V>,
                  "an argument or result of an entry method must be able to travel to another "
                  "rank, and this type cannot (see below); a value that stays on this rank may be "
                  "a rank_local<T>, and a chare "
                  "of a program of one rank only may say `static constexpr bool one_rank = true;`");
    must_travel<value>();
  }
}

/// Checks that values sent to chares of type T can travel, unless the chares stay on one rank.
template <class T, class... V>
constexpr void check_travel() noexcept {
  if constexpr (!stays_on_one_rank<T>) (check_one_travels<V>(), ...);
}
template <class T, class... More, class... V>
constexpr void check_travel(std::tuple<V...>*) noexcept {
  check_travel<T, More..., V...>();
}

/// Checks argument `Number` of a message, from 1 on. The compiler error names both types.
template <std::size_t Number, class Expected, class Given>
struct argument_of_message {
  static_assert(std::is_convertible_v<Given, Expected>,
                "the arguments do not fit the entry method: argument `Number` is a `Given`, where "
                "the method takes an `Expected`");
};
template <std::size_t Taken, std::size_t Given>
struct arguments_of_message {
  static_assert(Taken == Given,
                "the arguments do not fit the entry method: it takes another number of them");
};
/// Returns the index of the first argument that the method cannot take, or the number of arguments.
template <class... Expected, class... Given>
consteval std::size_t first_misfit(std::tuple<Expected...>*, std::tuple<Given...>*) noexcept {
  std::size_t fitting = 0;
  static_cast<void>(((std::is_convertible_v<Given, Expected> && ++fitting != 0) && ...));
  return fitting;
}

/// Whether a message with these arguments compiles.
template <auto Entry, class T, class... Args>
concept fits_message = entry_of<Entry, T> && fits_entry<Entry, Args...>;

/// Checks a message. For a message that cannot be sent, these assertions are the only compiler
/// errors.
template <auto Entry, class T, class... Args>
constexpr void check_entry() noexcept {
  constexpr bool is_entry = entry_of<Entry, T>;  // avoids the long explanation of a failed concept
  static_assert(is_entry,
                "not an entry method of this chare: name a member function of it whose "
                "parameters are values or references to const");
  if constexpr (fits_message<Entry, T, Args...>) {
    using arguments = typename method<decltype(Entry)>::arguments;
    check_travel<T, typename T::index_type>(static_cast<arguments*>(nullptr));
  } else if constexpr (entry_of<Entry, T>) {
    using arguments = typename method<decltype(Entry)>::arguments;
    using given = std::tuple<Args...>;
    if constexpr (std::tuple_size_v<arguments> != sizeof...(Args)) {
      static_cast<void>(arguments_of_message<std::tuple_size_v<arguments>, sizeof...(Args)>());
    } else {
      constexpr std::size_t n =
          first_misfit(static_cast<arguments*>(nullptr), static_cast<given*>(nullptr));
      static_cast<void>(argument_of_message<n + 1, std::tuple_element_t<n, arguments>,
                                            std::tuple_element_t<n, given>>());
    }
  }
}

}  // namespace starling::detail
