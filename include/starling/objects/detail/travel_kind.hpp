// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include <starling/objects/detail/bytes.hpp>
#include <starling/objects/detail/type_text.hpp>

/// The kind of a type: how its values travel, and of which types they consist.
namespace starling::detail {

/// In order of precedence. Ranges of kinds are also tested by comparison.
enum class travel_kind {
  codec,
  serialize,
  bytes,
  bits,        // std::vector<bool>
  contiguous,  // containers whose elements are contiguous bytes
  sequence,
  map,
  set,
  array,  // arrays whose elements are not bytes
  tuple,
  optional,
  variant,
  pointer,
  none,
};

template <class T>
struct standard_kind {
  static constexpr travel_kind kind = travel_kind::none;
};
template <class A>
struct standard_kind<std::vector<bool, A>> {
  static constexpr travel_kind kind = travel_kind::bits;
};
template <class T, std::size_t N>
struct standard_kind<std::array<T, N>> {
  static constexpr travel_kind kind = travel_kind::array;
  using parts = type_list<T>;
};
template <class T, std::size_t N>
struct standard_kind<T[N]> : standard_kind<std::array<T, N>> {};
template <class T, class U>
struct standard_kind<std::pair<T, U>> {
  static constexpr travel_kind kind = travel_kind::tuple;
  using parts = type_list<std::remove_cv_t<T>, std::remove_cv_t<U>>;
};
template <class... T>
struct standard_kind<std::tuple<T...>> {
  static constexpr travel_kind kind = travel_kind::tuple;
  using parts = type_list<std::remove_cv_t<T>...>;
};
template <class T>
struct standard_kind<std::optional<T>> {
  static constexpr travel_kind kind = travel_kind::optional;
  using parts = type_list<std::remove_cv_t<T>>;
};
template <class... T>
struct standard_kind<std::variant<T...>> {
  static constexpr travel_kind kind = travel_kind::variant;
  using parts = type_list<std::remove_cv_t<T>...>;
};
/// Excludes polymorphic classes that are not final: the pointee could be of a derived class.
template <class T>
requires(!std::is_polymorphic_v<T> || std::is_final_v<T>) struct standard_kind<std::unique_ptr<T>> {
  static constexpr travel_kind kind = travel_kind::pointer;
  using parts = type_list<std::remove_cv_t<T>>;
};
template <class T>
struct standard_kind<std::unique_ptr<T[]>> {
  static constexpr travel_kind kind = travel_kind::none;
};

template <class T>
inline constexpr bool is_specialisation = false;
template <template <class...> class C, class... T>
inline constexpr bool is_specialisation<C<T...>> = true;

/// Class templates with type parameters only, and types marked as containers. The members of a
/// container are not a sufficient test: a class that derives from a container has them, too.
template <class T>
concept is_container = std::is_class_v<T> &&
    (is_specialisation<T> || travels_as_container<T>)&&requires(T& v) {
  typename T::value_type;
  v.begin();
  v.end();
  v.clear();
  { v.size() } -> std::convertible_to<std::size_t>;
}
&&!std::is_same_v<std::remove_cv_t<typename T::value_type>, T>;  // such as std::filesystem::path

/// Whether order, hash and equality need no state: a default-made container has the same. Excludes
/// function pointers.
template <class T>
consteval bool has_constant_functions() {
  bool are_empty = true;
  if constexpr (requires { typename T::key_compare; })
    are_empty = are_empty && std::is_empty_v<typename T::key_compare>;
  if constexpr (requires { typename T::hasher; })
    are_empty = are_empty && std::is_empty_v<typename T::hasher>;
  if constexpr (requires { typename T::key_equal; })
    are_empty = are_empty && std::is_empty_v<typename T::key_equal>;
  return are_empty;
}
template <class T>
concept is_contiguous = is_container<T> && requires(T& v) {
  v.resize(std::size_t(0));
  { v.data() } -> std::same_as<typename T::value_type*>;
} && is_bytes<typename T::value_type>();
template <class T>
concept is_sequence = is_container<T> && requires(T& v, typename T::value_type&& element) {
  v.push_back(std::move(element));
};
template <class T>
concept is_map = is_container<T> &&
    requires(T& v, typename T::key_type&& key, typename T::mapped_type&& value) {
  v.emplace(std::move(key), std::move(value));
} && !std::is_same_v<typename T::key_type, T> && !std::is_same_v<typename T::mapped_type, T> &&
    has_constant_functions<T>();
template <class T>
concept is_set = is_container<T> && requires(T& v, typename T::key_type&& key) {
  v.insert(std::move(key));
} && !std::is_same_v<typename T::key_type, T> && has_constant_functions<T>();

template <class T>
consteval travel_kind find_kind() {
  if constexpr (has_codec<T>)
    return travel_kind::codec;
  else if constexpr (specialises_codec<T>)
    return travel_kind::none;
  else if constexpr (is_bytes<T>())
    return travel_kind::bytes;
  else if constexpr (is_customised<T>)
    return travel_kind::serialize;
  else if constexpr (standard_kind<T>::kind != travel_kind::none)
    return standard_kind<T>::kind;
  else if constexpr (is_contiguous<T>)
    return travel_kind::contiguous;
  else if constexpr (is_sequence<T>)
    return travel_kind::sequence;
  else if constexpr (is_map<T>)
    return travel_kind::map;
  else if constexpr (is_set<T>)
    return travel_kind::set;
  else
    return travel_kind::none;
}
template <class T>
inline constexpr travel_kind travel_kind_of = find_kind<T>();

/// Returns the types of which T consists, unless its author hides them (codec, serialize,
/// travels_as_bytes).
template <class T>
consteval auto find_parts() {
  constexpr travel_kind s = travel_kind_of<T>;
  if constexpr (s == travel_kind::bytes && is_plain_struct<T> && !is_std_array<T> &&
                !travels_as_bytes<T>)
    return members_of<T>{};
  else if constexpr (s == travel_kind::contiguous || s == travel_kind::sequence)
    return type_list<typename T::value_type>{};
  else if constexpr (s == travel_kind::map)
    return type_list<typename T::key_type, typename T::mapped_type>{};
  else if constexpr (s == travel_kind::set)
    return type_list<typename T::key_type>{};
  else if constexpr (s >= travel_kind::array && s < travel_kind::none)
    return typename standard_kind<T>::parts{};
  else
    return type_list<>{};
}
template <class T>
using parts_of = decltype(find_parts<T>());

/// Whether values are default-constructed first and then filled.
template <class T>
inline constexpr bool is_filled = travel_kind_of<T> != travel_kind::codec&& travel_kind_of<T> !=
                                  travel_kind::tuple&& travel_kind_of<T> !=
                                  travel_kind::variant&& travel_kind_of<T> != travel_kind::none;

/// Whether parts are made first and then moved into the value.
template <class T>
inline constexpr bool has_moved_parts = (travel_kind_of<T> >= travel_kind::sequence &&
                                         travel_kind_of<T> <= travel_kind::set) ||
                                        (travel_kind_of<T> >= travel_kind::tuple &&
                                         travel_kind_of<T> <= travel_kind::variant);
template <class... T>
consteval bool can_all_be_moved(type_list<T...>) {
  return (std::is_move_constructible_v<T> && ...);
}

template <class T>
consteval bool can_travel();
template <class... T>
consteval bool can_all_travel(type_list<T...>) {
  return (can_travel<T>() && ...);
}
template <class T>
consteval bool can_travel() {
  if constexpr (travel_kind_of<T> == travel_kind::none)
    return false;
  else if constexpr (is_filled<T> && !std::is_array_v<T> && !std::default_initializable<T>)
    return false;
  else if constexpr (!can_all_travel(parts_of<T>{}))
    return false;
  else if constexpr (has_moved_parts<T>)
    return can_all_be_moved(parts_of<T>{});
  else
    return true;
}

/// Extends `hash` by the names, sizes and members of a type and its parts. The same on all ranks of
/// a build.
template <class T>
consteval std::uint32_t hash_type(std::uint32_t hash);
template <class... T>
consteval std::uint32_t hash_types(std::uint32_t hash, type_list<T...>) {
  ((hash = hash_type<T>(hash)), ...);
  return hash_more(hash, sizeof...(T));
}
template <class T>
consteval std::uint32_t hash_type(std::uint32_t hash) {
  hash = hash_more(hash_more(hash, type_text<T>), sizeof(T));
  return hash_types(hash, parts_of<T>{});
}

}  // namespace starling::detail
