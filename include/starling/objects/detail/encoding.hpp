// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <memory>
#include <type_traits>

#include <starling/objects/detail/must_travel.hpp>

/// Writes and reads values, by kind. `Out` is a counting_archive or an output_archive, `In` an
/// input_archive.
///
/// Bytes are written as they are in memory; a length or an alternative is 64 bits, a flag one byte.
/// Each element of a container takes at least one byte: padding behind the last element makes up
/// for shorter ones. So a length larger than the remaining bytes is invalid, and no memory is
/// allocated for it.
///
/// Padding of structs is sent unchanged. An object without members may share its address with a
/// member of another object, so its byte is neither read nor written. An object whose last bytes
/// are padding may have members of a derived class there, so it is assigned and not overwritten.
namespace starling::detail {

template <class In, class T>
void load_value(In& ar, T& value);
template <class T, class In>
[[nodiscard]] T make_value(In& ar);

template <class Out, class T>
void save_value(Out& ar, const T& value);

template <class Out>
void save_number(Out& ar, std::uint64_t n) {
  ar.write(&n, sizeof(n));
}

template <class Out, class Range>
void save_elements(Out& ar, const Range& range) {
  const std::size_t begin = ar.position();
  std::size_t count = 0;
  for (const auto& each : range) {
    save_value(ar, each);
    ++count;
  }
  for (std::size_t n = ar.position() - begin; n < count; ++n) ar.write("", 1);
}

template <class Out, class T>
void save_bits(Out& ar, const T& bits) {
  save_number(ar, bits.size());
  for (std::size_t i = 0; i < bits.size();) {
    unsigned char byte = 0;
    for (int k = 0; k < 8 && i < bits.size(); ++k, ++i)
      byte |= static_cast<unsigned char>(bits[i] << k);
    ar.write(&byte, 1);
  }
}

template <class Out, class T>
void save_variant(Out& ar, const T& value) {
  if (value.valueless_by_exception()) ar.refuse(type_text<T>, "it holds no value");
  save_number(ar, value.index());
  std::visit([&ar](const auto& alternative) { save_value(ar, alternative); }, value);
}

/// Whether values of T are large and are on the stack while their parts are read. Classes with
/// `serialize` or a codec are excluded, because their size is counted in any case.
template <class T>
inline constexpr bool is_large_whole = sizeof(T) > 256 &&
                                       (travel_kind_of<T> == travel_kind::array ||
                                        travel_kind_of<T> == travel_kind::tuple ||
                                        travel_kind_of<T> == travel_kind::optional ||
                                        travel_kind_of<T> == travel_kind::variant);

/// Reads or writes an object by its `serialize`.
template <class Archive, class T>
void serialize_object(Archive& ar, T& value) {
  ar.enter(type_text<T>, sizeof(T));
  if constexpr (has_member_serialize<T>)
    value.serialize(ar);
  else
    serialize(ar, value);
  ar.leave(sizeof(T));
}

template <class Out, class T>
void save_value(Out& ar, const T& value) {
  constexpr travel_kind s = travel_kind_of<T>;
  if constexpr (is_large_whole<T>) ar.enter(type_text<T>, sizeof(T), 0);
  if constexpr (s == travel_kind::bytes && std::is_empty_v<T>) {
    constexpr std::array<std::byte, sizeof(T)> nothing{};
    ar.write(nothing.data(), sizeof(T));
  } else if constexpr (s == travel_kind::bytes) {
    ar.write(&value, sizeof(T));
  } else if constexpr (s == travel_kind::codec) {
    ar.enter(type_text<T>, sizeof(T));
    codec<T>::save(ar, value);
    ar.leave(sizeof(T));
  } else if constexpr (s == travel_kind::serialize) {
    serialize_object(ar, const_cast<T&>(value));  // not modified when it is written
  } else if constexpr (s == travel_kind::bits) {
    save_bits(ar, value);
  } else if constexpr (s == travel_kind::contiguous) {
    save_number(ar, value.size());
    ar.write(value.data(), value.size() * sizeof(typename T::value_type));
  } else if constexpr (s == travel_kind::sequence || s == travel_kind::map ||
                       s == travel_kind::set) {
    save_number(ar, value.size());
    save_elements(ar, value);
  } else if constexpr (s == travel_kind::array) {
    for (const auto& each : value) save_value(ar, each);
  } else if constexpr (s == travel_kind::tuple) {
    std::apply([&ar](const auto&... each) { (save_value(ar, each), ...); }, value);
  } else if constexpr (s == travel_kind::variant) {
    save_variant(ar, value);
  } else {  // optional, pointer
    const unsigned char flag = value ? 1 : 0;
    ar.write(&flag, 1);
    if (value) save_value(ar, *value);
  }
  if constexpr (is_large_whole<T>) ar.leave(sizeof(T), 0);
}

/// Reads the number of the elements that follow, of at least `each` bytes each.
template <class T, class In>
[[nodiscard]] std::size_t load_count(In& ar, std::size_t each) {
  std::uint64_t count = 0;
  ar.read(&count, sizeof(count), type_text<T>);
  if (count > ar.left() / each) ar.refuse_count(type_text<T>, count, each);
  return count;
}

template <class T, class In>
[[nodiscard]] bool load_flag(In& ar) {
  unsigned char flag = 0;
  ar.read(&flag, 1, type_text<T>);
  if (flag > 1) ar.refuse(type_text<T>, "a flag is neither 0 nor 1");
  return flag == 1;
}

template <class In, class T>
void load_bits(In& ar, T& bits) {
  std::uint64_t count = 0;
  ar.read(&count, sizeof(count), type_text<T>);
  if (count / 8 > ar.left()) ar.refuse_count(type_text<T>, count / 8, 1);
  bits.assign(count, false);
  for (std::size_t i = 0; i < count;) {
    unsigned char byte = 0;
    ar.read(&byte, 1, type_text<T>);
    for (int k = 0; k < 8 && i < count; ++k, ++i) bits[i] = ((byte >> k) & 1) != 0;
  }
}

template <class In, class T>
void load_elements(In& ar, T& container) {
  constexpr travel_kind s = travel_kind_of<T>;
  const std::size_t count = load_count<T>(ar, 1);
  const std::size_t before = ar.left();
  container.clear();
  if constexpr (requires {
                  container.reserve(count);
                })  // all of them together are limited to the bytes of the message
    container.reserve(ar.grant(count, sizeof(typename T::value_type)));
  for (std::size_t i = 0; i < count; ++i) {
    if constexpr (s == travel_kind::sequence) {
      container.push_back(make_value<typename T::value_type>(ar));
    } else if constexpr (s == travel_kind::set) {
      container.insert(make_value<typename T::key_type>(ar));
    } else {
      auto key = make_value<typename T::key_type>(ar);
      container.emplace(std::move(key), make_value<typename T::mapped_type>(ar));
    }
  }
  for (std::size_t n = before - ar.left(); n < count; ++n) static_cast<void>(load_flag<T>(ar));
}

/// Reads a value that is not a part of another object.
template <class In, class T>
void load_whole_bytes(In& ar, T& value) {
  ar.read(&value, sizeof(T), type_text<T>);
  if (!has_valid_bools(value)) ar.refuse(type_text<T>, "a bool is neither 0 nor 1");
}

template <class In, class T>
void load_bytes(In& ar, T& value) {
  if constexpr (std::is_empty_v<T>) {
    std::array<std::byte, sizeof(T)> nothing;
    ar.read(nothing.data(), sizeof(T), type_text<T>);
  } else if constexpr (!std::is_class_v<T> || std::has_unique_object_representations_v<T> ||
                       !std::is_default_constructible_v<T> || !std::is_move_assignable_v<T>) {
    load_whole_bytes(ar, value);
  } else if constexpr (sizeof(T) > 1024) {  // too large for the stack
    const auto made = std::make_unique<T>();
    load_whole_bytes(ar, *made);
    value = std::move(*made);
  } else {
    T made;
    load_whole_bytes(ar, made);
    value = std::move(made);
  }
}

/// Iterates over elements stored as bytes, at any alignment. A container that is assigned from them
/// writes its memory once; `resize` would clear it first.
template <class T>
class packed_iterator {
 public:
  using iterator_category = std::random_access_iterator_tag;
  using value_type = T;
  using difference_type = std::ptrdiff_t;
  using pointer = void;
  using reference = T;

  explicit packed_iterator(const std::byte* at) noexcept : m_at(at) {}
  T operator*() const noexcept {
    std::array<std::byte, sizeof(T)> bytes;
    std::memcpy(bytes.data(), m_at, sizeof(T));
    return std::bit_cast<T>(bytes);
  }
  packed_iterator& operator++() noexcept { return *this += 1; }
  packed_iterator& operator--() noexcept { return *this += -1; }
  packed_iterator& operator+=(difference_type n) noexcept {
    m_at += n * difference_type(sizeof(T));
    return *this;
  }
  friend difference_type operator-(packed_iterator a, packed_iterator b) noexcept {
    return (a.m_at - b.m_at) / difference_type(sizeof(T));
  }
  friend bool operator==(packed_iterator, packed_iterator) = default;

 private:
  const std::byte* m_at;
};

/// Standard containers whose elements accept any bytes.
template <class T>
inline constexpr bool is_assigned = is_of_std<T> && !std::is_same_v<typename T::value_type, bool> &&
                                    (std::is_arithmetic_v<typename T::value_type> ||
                                     std::is_same_v<typename T::value_type, std::byte>);

/// Assigns `count` elements at `from` to `container`.
template <class T>
void assign_packed(T& container, const std::byte* from, std::size_t count) {
  using element = typename T::value_type;
  if constexpr (sizeof(element) == 1) {  // any alignment fits
    const auto* first = reinterpret_cast<const element*>(from);
    if (container.capacity() < count)  // faster than to grow it
      container = T(first, first + count);
    else
      container.assign(first, first + count);
  } else {
    container.assign(packed_iterator<element>(from),
                     packed_iterator<element>(from + count * sizeof(element)));
  }
}

template <class In, class T>
void load_contiguous(In& ar, T& container) {
  using element = typename T::value_type;
  const std::size_t count = load_count<T>(ar, sizeof(element));
  if constexpr (is_assigned<T>) {
    assign_packed(container, ar.take(count * sizeof(element), type_text<T>), count);
  } else {
    container.resize(count);
    ar.read(container.data(), count * sizeof(element), type_text<T>);
    if constexpr (holds_bool<element>())
      for (const element& each : container)
        if (!has_valid_bools(each)) ar.refuse(type_text<T>, "a bool is neither 0 nor 1");
  }
}

template <class In, class T>
void load_pointer(In& ar, T& pointer) {
  using pointee = std::remove_cv_t<typename T::element_type>;
  pointer.reset();
  if (!load_flag<T>(ar)) return;
  if constexpr (is_filled<pointee>) {  // read in place: it may be large
    auto made = std::make_unique<pointee>();
    if constexpr (travel_kind_of<pointee> == travel_kind::bytes)
      load_whole_bytes(ar, *made);
    else
      load_value(ar, *made);
    pointer = std::move(made);
  } else {
    pointer = std::make_unique<pointee>(make_value<pointee>(ar));
  }
}

/// Makes a tuple or a variant.
template <class T, class In, class... Parts>
[[nodiscard]] T make_of_parts(In& ar, type_list<Parts...>) {
  if constexpr (travel_kind_of<T> == travel_kind::tuple) {
    return T{make_value<Parts>(ar)...};  // braces: evaluated from left to right
  } else {
    std::uint64_t index = 0;
    ar.read(&index, sizeof(index), type_text<T>);
    if (index >= sizeof...(Parts)) ar.refuse(type_text<T>, "there is no such alternative");
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      using maker = T (*)(In&);
      constexpr maker makers[] = {
          [](In& in) { return T(std::in_place_index<I>, make_value<Parts>(in)); }...};
      return makers[index](ar);
    }
    (std::index_sequence_for<Parts...>{});
  }
}

template <class In, class T>
void load_value(In& ar, T& value) {
  constexpr travel_kind s = travel_kind_of<T>;
  if constexpr (is_large_whole<T> && is_filled<T>) ar.enter(type_text<T>, sizeof(T), 0);
  if constexpr (s == travel_kind::bytes) {
    load_bytes(ar, value);
  } else if constexpr (s == travel_kind::serialize) {
    serialize_object(ar, value);
  } else if constexpr (s == travel_kind::bits) {
    load_bits(ar, value);
  } else if constexpr (s == travel_kind::contiguous) {
    load_contiguous(ar, value);
  } else if constexpr (s == travel_kind::sequence || s == travel_kind::map ||
                       s == travel_kind::set) {
    load_elements(ar, value);
  } else if constexpr (s == travel_kind::array) {
    for (auto& each : value) load_value(ar, each);
  } else if constexpr (s == travel_kind::optional) {
    value.reset();
    if (load_flag<T>(ar)) value.emplace(make_value<std::remove_cv_t<typename T::value_type>>(ar));
  } else if constexpr (s == travel_kind::pointer) {
    load_pointer(ar, value);
  } else {  // codec, tuple, variant
    value = make_value<T>(ar);
  }
  if constexpr (is_large_whole<T> && is_filled<T>) ar.leave(sizeof(T), 0);
}

template <class T, class In>
T make_value(In& ar) {
  constexpr travel_kind s = travel_kind_of<T>;
  if constexpr (s == travel_kind::codec) {
    ar.enter(type_text<T>, sizeof(T));
    T value = codec<T>::load(ar);
    ar.leave(sizeof(T));
    return value;
  } else if constexpr (s == travel_kind::tuple || s == travel_kind::variant) {
    if constexpr (is_large_whole<T>) ar.enter(type_text<T>, sizeof(T), 0);
    T value = make_of_parts<T>(ar, parts_of<T>{});
    if constexpr (is_large_whole<T>) ar.leave(sizeof(T), 0);
    return value;
  } else {
    T value;
    if constexpr (s == travel_kind::bytes)
      load_whole_bytes(ar, value);
    else
      load_value(ar, value);
    return value;
  }
}

}  // namespace starling::detail
