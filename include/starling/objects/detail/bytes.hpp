// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstring>
#include <type_traits>
#include <utility>

#include <starling/objects/codec.hpp>
#include <starling/objects/detail/type_text.hpp>

/// Types that travel as a copy of their bytes. C++20 cannot list the members of a class, but the
/// members of an aggregate can be counted and bound to names. This finds pointers in plain structs.
namespace starling::detail {

template <class... T>
struct type_list {};

template <class T>
concept has_codec = requires(counting_archive& count, output_archive& out, input_archive& in,
                             const T& value) {
  codec<T>::save(count, value);
  codec<T>::save(out, value);
  { codec<T>::load(in) } -> std::same_as<T>;
};

/// Whether codec<T> is specialised, even if the specialisation is not a valid codec.
template <class T>
concept specialises_codec = !requires {
  typename codec<T>::not_specialised;
};
template <class T>
concept has_member_serialize = requires(output_archive& out, input_archive& in, T& value) {
  value.serialize(out);
  value.serialize(in);
};
template <class T>
concept has_free_serialize = requires(output_archive& out, input_archive& in, T& value) {
  serialize(out, value);
  serialize(in, value);
};
template <class T>
concept is_customised = specialises_codec<T> || has_member_serialize<T> || has_free_serialize<T>;

/// A value that converts to the bases of T only.
template <class T>
struct any_base_of {
  template <class U>
  requires(std::is_base_of_v<U, T> && !std::is_same_v<U, T>) operator U() const noexcept;
};

/// Returns the number of members of an aggregate without bases: `{}` initialises one member of any
/// type. 0: no members, or `{}` cannot initialise the first; 13: more than `with_members` can bind.
template <class T>
consteval int count_members() {
  // clang-format off
  if constexpr (requires { T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; }) return 13;
  else if constexpr (requires { T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; }) return 12;
  else if constexpr (requires { T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; }) return 11;
  else if constexpr (requires { T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; }) return 10;
  else if constexpr (requires { T{{}, {}, {}, {}, {}, {}, {}, {}, {}}; }) return 9;
  else if constexpr (requires { T{{}, {}, {}, {}, {}, {}, {}, {}}; }) return 8;
  else if constexpr (requires { T{{}, {}, {}, {}, {}, {}, {}}; }) return 7;
  else if constexpr (requires { T{{}, {}, {}, {}, {}, {}}; }) return 6;
  else if constexpr (requires { T{{}, {}, {}, {}, {}}; }) return 5;
  else if constexpr (requires { T{{}, {}, {}, {}}; }) return 4;
  else if constexpr (requires { T{{}, {}, {}}; }) return 3;
  else if constexpr (requires { T{{}, {}}; }) return 2;
  else if constexpr (requires { T{{}}; }) return 1;
  else return 0;
  // clang-format on
}

/// Calls `f` with references to the members.
template <class T, class F>
constexpr auto with_members(const T& value, F f) {
  constexpr int n = count_members<T>();
  if constexpr (n == 0) {
    return f();
  } else if constexpr (n == 1) {
    const auto& [a] = value;
    return f(a);
  } else if constexpr (n == 2) {
    const auto& [a, b] = value;
    return f(a, b);
  } else if constexpr (n == 3) {
    const auto& [a, b, c] = value;
    return f(a, b, c);
  } else if constexpr (n == 4) {
    const auto& [a, b, c, d] = value;
    return f(a, b, c, d);
  } else if constexpr (n == 5) {
    const auto& [a, b, c, d, e] = value;
    return f(a, b, c, d, e);
  } else if constexpr (n == 6) {
    const auto& [a, b, c, d, e, g] = value;
    return f(a, b, c, d, e, g);
  } else if constexpr (n == 7) {
    const auto& [a, b, c, d, e, g, h] = value;
    return f(a, b, c, d, e, g, h);
  } else if constexpr (n == 8) {
    const auto& [a, b, c, d, e, g, h, i] = value;
    return f(a, b, c, d, e, g, h, i);
  } else if constexpr (n == 9) {
    const auto& [a, b, c, d, e, g, h, i, j] = value;
    return f(a, b, c, d, e, g, h, i, j);
  } else if constexpr (n == 10) {
    const auto& [a, b, c, d, e, g, h, i, j, k] = value;
    return f(a, b, c, d, e, g, h, i, j, k);
  } else if constexpr (n == 11) {
    const auto& [a, b, c, d, e, g, h, i, j, k, l] = value;
    return f(a, b, c, d, e, g, h, i, j, k, l);
  } else {
    const auto& [a, b, c, d, e, g, h, i, j, k, l, m] = value;
    return f(a, b, c, d, e, g, h, i, j, k, l, m);
  }
}

/// Aggregates whose members can be listed. They are assignable: no member is const or a reference.
template <class T>
concept is_plain_struct =
    std::is_class_v<T> && std::is_aggregate_v<T> && std::is_trivially_copyable_v<T> &&
    std::default_initializable<T> && std::is_move_assignable_v<T> && !requires {
  T{any_base_of<T>{}};
}
&&!requires { std::tuple_size<T>::value; }
&&count_members<T>() <= 12 && (count_members<T>() > 0 || std::is_empty_v<T>);

struct list_types {
  template <class... T>
  constexpr type_list<T...> operator()(const T&...) const {
    return {};
  }
};
template <is_plain_struct T>
using members_of = decltype(with_members(std::declval<const T&>(), list_types{}));

template <class T>
inline constexpr bool is_std_array = false;
template <class T, std::size_t N>
inline constexpr bool is_std_array<std::array<T, N>> = true;

/// Whether T is in namespace std, where only the standard library may define classes.
template <class T>
inline constexpr bool is_of_std = type_text<T>.starts_with("std::");

/// std::complex and std::chrono::duration, recognised by their members, to avoid their headers.
template <class T>
concept is_complex = is_of_std<T> && std::is_arithmetic_v<typename T::value_type> &&
                         sizeof(T) == 2 * sizeof(typename T::value_type) &&
                     requires(const T& z) {
  { z.real() } -> std::same_as<typename T::value_type>;
  { z.imag() } -> std::same_as<typename T::value_type>;
};
template <class T>
concept is_duration = is_of_std<T> && std::is_arithmetic_v<typename T::rep> &&
                          sizeof(T) == sizeof(typename T::rep) &&
                      !requires {
  typename T::clock;
}
&&requires(const T& d) {
  typename T::period;
  { d.count() } -> std::same_as<typename T::rep>;
};

template <class T>
consteval bool is_bytes();
template <class... T>
consteval bool are_bytes(type_list<T...>) {
  return (is_bytes<T>() && ...);
}
template <class T>
consteval bool is_bytes() {
  if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T>)
    return !specialises_codec<T>;
  else if constexpr (is_customised<T>)
    return false;
  else if constexpr (std::is_bounded_array_v<T>)
    return is_bytes<std::remove_all_extents_t<T>>();
  else if constexpr (is_std_array<T>)
    return is_bytes<typename T::value_type>();
  else if constexpr (std::is_union_v<T>)
    return travels_as_bytes<T> && std::is_trivially_copyable_v<T>;
  else if constexpr (!std::is_class_v<T> || !std::is_trivially_copyable_v<T>)
    return false;
  else if constexpr (travels_as_bytes<T> || is_complex<T> || is_duration<T>)
    return true;
  else if constexpr (is_plain_struct<T>)
    return are_bytes(members_of<T>{});
  else
    return false;
}

template <class T>
consteval bool is_bool() {
  if constexpr (std::is_enum_v<T>)
    return std::is_same_v<std::underlying_type_t<T>, bool>;
  else
    return std::is_same_v<std::remove_cv_t<T>, bool>;
}

template <class T>
consteval bool holds_bool();
template <class... T>
consteval bool hold_bool(type_list<T...>) {
  return (holds_bool<T>() || ...);
}
template <class T>
consteval bool holds_bool() {
  if constexpr (travels_as_bytes<T>)
    return false;
  else if constexpr (std::is_array_v<T>)
    return holds_bool<std::remove_all_extents_t<T>>();
  else if constexpr (is_std_array<T>)
    return holds_bool<typename T::value_type>();
  else if constexpr (is_plain_struct<T>)
    return hold_bool(members_of<T>{});
  else
    return is_bool<T>();
}

/// Whether each bool in `value` is 0 or 1: any other bool is undefined behaviour. The same holds
/// for a value beyond the bits of the enumerators of an enumeration without a fixed underlying
/// type. That cannot be checked here: give it an underlying type. All other bytes are valid values.
template <class T>
[[nodiscard]] bool has_valid_bools(const T& value) noexcept {
  if constexpr (!holds_bool<T>()) {
    return true;
  } else if constexpr (is_bool<T>()) {
    unsigned char byte;
    std::memcpy(&byte, &value, 1);
    return byte <= 1;
  } else if constexpr (std::is_array_v<T> || is_std_array<T>) {
    for (const auto& each : value)
      if (!has_valid_bools(each)) return false;
    return true;
  } else {
    return with_members(value, [](const auto&... m) { return (has_valid_bools(m) && ...); });
  }
}

}  // namespace starling::detail
