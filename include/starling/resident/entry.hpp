// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>

#include <starling/resident/detail/arguments.hpp>

/// Resident programs, described by types: their chares and their entry methods.
namespace starling::resident {

/// The name of an entry method in a call: `cx.invoke(to, entry<&block::halo>, …)`.
template <auto Method>
struct entry_name {};
template <auto Method>
inline constexpr entry_name<Method> entry{};

/// The entry methods of a chare: `struct entries : resident::entries<&block::halo, …> {};`, member
/// functions of the form `constexpr void f(Cx& cx, …)`. Parameters are trivially copyable values of
/// at most 88 bytes together, optionally followed by a `std::span<const T>` of any length.
template <auto... Methods>
struct entries {
  static constexpr std::uint32_t count = sizeof...(Methods);
};

/// A program: a list of chare templates, `template <class Cx> struct block : resident::chare`. The
/// same source is compiled for all backends, which differ in the context `Cx`.
template <template <class> class... Chares>
struct program {};

namespace detail {

template <class Method>
struct method_types;
template <class Chare, class Cx, class... Args>
struct method_types<void (Chare::*)(Cx&, Args...)> {
  using chare = Chare;
  using arguments = parameters<Args...>;
  static_assert(arguments::fit(),
                "parameters of an entry method are trivially copyable values, no pointers, and at "
                "the end possibly a std::span<const T>");
  static_assert(arguments::bytes() <= inline_bytes,
                "the arguments of an entry method are too big for a message: pass a span");
};
template <auto Method>
using types_of = method_types<decltype(Method)>;

/// Fails to compile if `Method` of `Chare` cannot be called with `Args`.
template <class Chare, auto Method, class... Args>
constexpr void require_fit() noexcept {
  static_assert(std::is_same_v<typename types_of<Method>::chare, Chare>,
                "not an entry method of this chare");
  static_assert(types_of<Method>::arguments::template accepts<Args...>(),
                "the arguments do not fit the entry method");
}

// Compares types, as not every compiler takes the comparison of member pointers as a constant.
template <auto A, auto B>
inline constexpr bool is_same_method = std::is_same_v<entry_name<A>, entry_name<B>>;

template <class List, auto Method>
inline constexpr std::uint32_t index_in = ~0u;
template <auto... Methods, auto Method>
inline constexpr std::uint32_t index_in<entries<Methods...>, Method> = [] {
  std::uint32_t index = 0, found = ~0u;
  ((is_same_method<Methods, Method>&& found == ~0u ? found = index : found, ++index), ...);
  return found;
}();

template <class... Lists>
struct joined;
template <auto... Methods>
struct joined<entries<Methods...>> {
  using type = entries<Methods...>;
};
template <auto... A, auto... B, class... More>
struct joined<entries<A...>, entries<B...>, More...> : joined<entries<A..., B...>, More...> {};

/// Returns the list from which a chare's `entries` or `referenced` derives. Unevaluated only.
template <auto... Methods>
[[nodiscard]] constexpr entries<Methods...> list_in(const entries<Methods...>&) noexcept;
template <class Derived>
using list_of = decltype(list_in(std::declval<const Derived&>()));

template <class Cx, template <class> class... Chares>
using entries_of_program = typename joined<list_of<typename Chares<Cx>::entries>...>::type;

// Clang instantiates a constexpr function where it is named. An entry method is named in the list
// `entries`, from which the numbers of calls in that same method are computed. With Clang, the
// functions that need the list are therefore not constexpr: they are instantiated at the end of the
// file.
#ifdef __clang__
#  define STARLING_LATE inline
#else
#  define STARLING_LATE constexpr
#endif

/// The numbering of a program's chares and entry methods.
template <class Cx, class Program>
struct entry_table;
template <class Cx, template <class> class... Chares>
struct entry_table<Cx, program<Chares...>> {
  template <auto Method>
  [[nodiscard]] static STARLING_LATE std::uint8_t number() noexcept {
    using all = entries_of_program<Cx, Chares...>;
    static_assert(all::count <= 256, "a program has at most 256 entry methods");
    constexpr std::uint32_t index = index_in<all, Method>;
    static_assert(index != ~0u, "the method is not in the `entries` of its chare");
    return static_cast<std::uint8_t>(index);
  }
  template <class Chare>
  [[nodiscard]] static constexpr std::uint32_t type_number() noexcept {
    std::uint32_t index = 0, found = ~0u;
    ((std::is_same_v<Chares<Cx>, Chare> ? found = index : found, ++index), ...);
    return found;
  }
  /// Calls `f.template operator()<Method>()` for the entry method with that number.
  template <class F>
  [[gnu::always_inline]] static constexpr void visit(std::uint32_t number, F&& f) {
    visit_in(number, f, entries_of_program<Cx, Chares...>{});
  }
  /// Calls `f.template operator()<Chare>()` for the chare with that number.
  template <class F>
  static constexpr void visit_type(std::uint32_t number, F&& f) {
    std::uint32_t i = 0;
    static_cast<void>(
        ((number == i++ ? (f.template operator()<Chares<Cx>>(), true) : false) || ...));
  }

 private:
  /// Binary search, so that the last method is found as fast as the first.
  template <class F, auto... Methods>
  [[gnu::always_inline]] static constexpr void visit_in(std::uint32_t number, F& f,
                                                        entries<Methods...>) {
    visit_range<0, sizeof...(Methods), std::tuple<entry_name<Methods>...>>(number, f);
  }
  template <std::size_t First, std::size_t End, class Names, class F>
  [[gnu::always_inline]] static constexpr void visit_range(std::uint32_t number, F& f) {
    if constexpr (First + 1 == End) {
      call(std::tuple_element_t<First, Names>{}, f);
    } else if constexpr (First < End) {
      constexpr std::size_t middle = (First + End) / 2;
      if (number < middle)
        visit_range<First, middle, Names>(number, f);
      else
        visit_range<middle, End, Names>(number, f);
    }
  }
  template <auto Method, class F>
  [[gnu::always_inline]] static constexpr void call(entry_name<Method>, F& f) {
    f.template operator()<Method>();
  }
};

/// Returns whether messages to `Method` wait until their reference number, the first argument, is
/// expected: see `context::expect`.
template <auto Method>
[[nodiscard]] STARLING_LATE bool is_referenced() noexcept {
  using chare = typename types_of<Method>::chare;
  if constexpr (requires { typename chare::referenced; })
    return index_in<list_of<typename chare::referenced>, Method> != ~0u;
  else
    return false;
}

#undef STARLING_LATE

}  // namespace detail
}  // namespace starling::resident
