// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <starling/objects/detail/travel_kind.hpp>

/// Compiler errors for types that cannot travel. The failing function's instance names the type.
namespace starling::detail {

template <class>
inline constexpr bool never = false;

template <class T>
concept looks_like_a_view = requires(const T& v) {
  v.data();
  v.size();
};

template <class T>
consteval void must_travel();
template <class... T>
consteval void must_all_travel(type_list<T...>) {
  (must_travel<T>(), ...);
}

/// Explains why T, trivially copyable, has no kind.
template <class T>
consteval void refuse_bytes() {
  if constexpr (looks_like_a_view<T>)
    static_assert(never<T>,
                  "a view (std::span, std::string_view) is of memory of this rank: send an owner "
                  "of the memory, such as std::vector or std::string");
  else if constexpr (is_plain_struct<T>)
    static_assert(never<T>,
                  "this struct has a member that cannot travel as bytes (a pointer, a view, or a "
                  "class that hides its members): give it a function `template <class Archive> "
                  "void serialize(Archive& ar)`");
  else
    static_assert(never<T>,
                  "this class may hold pointers, which the compiler cannot see (it has "
                  "constructors, private members, a base, captures, or more than 12 members): "
                  "give it a function `template <class Archive> void serialize(Archive& ar)` or, "
                  "if its bytes mean the same on every rank, `template <> inline constexpr bool "
                  "starling::travels_as_bytes<T> = true;`");
}

template <class T>
consteval void must_travel() {
  if constexpr (can_travel<T>())
    return;
  else if constexpr (specialises_codec<T> && !has_codec<T>)
    static_assert(never<T>,
                  "this type's starling::codec does not fit: it needs `template <class Archive> "
                  "static void save(Archive&, const T&)` and `static T load(input_archive&)`, both "
                  "public");
  else if constexpr (std::is_pointer_v<T> || std::is_reference_v<T> ||
                     std::is_member_pointer_v<T> || std::is_null_pointer_v<T>)
    static_assert(never<T>,
                  "a pointer or reference means nothing on another rank: send the object that it "
                  "points to, by value, in a std::vector or in a std::unique_ptr");
  else if constexpr (travel_kind_of<T> != travel_kind::none && is_filled<T> &&
                     !std::default_initializable<T>)
    static_assert(never<T>,
                  "a type that travels needs a default constructor, into whose value it is read, "
                  "or a starling::codec<T> whose load() makes one");
  else if constexpr (travel_kind_of<T> != travel_kind::none)
    if constexpr (can_all_travel(parts_of<T>{}))
      static_assert(
          never<T>,
          "a member of this type can be neither copied nor moved (an array, or a class "
          "that does not allow it): send a std::array, or the class by a std::unique_ptr");
    else
      must_all_travel(parts_of<T>{});
  else if constexpr (requires { typename T::key_type; } && !has_constant_functions<T>())
    static_assert(never<T>,
                  "this container's order, hash or equality is a value (a function pointer, a "
                  "std::function), which another rank does not have: use a class without members");
  else if constexpr (std::is_class_v<T> && std::is_trivially_copyable_v<T>)
    refuse_bytes<T>();
  else
    static_assert(never<T>,
                  "this type cannot travel between ranks: give it a function `template <class "
                  "Archive> void serialize(Archive& ar) { ar(m_one, m_other); }` or a "
                  "starling::codec<T>; structs that are not trivially copyable need one, too, and "
                  "pointers to polymorphic or shared objects have no way of their own");
}

}  // namespace starling::detail
