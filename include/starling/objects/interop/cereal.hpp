// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <typeindex>
#include <unordered_map>
#include <utility>

#include <cereal/cereal.hpp>

#include <starling/objects/archive.hpp>

#if !CEREAL_THREAD_SAFE
#  error \
      "entry methods' arguments are packed by many threads: define CEREAL_THREAD_SAFE=1 everywhere"
#endif

namespace cereal::memory_detail {
template <class T>
struct PtrWrapper;
}

/// Adaptor for classes with cereal functions (https://uscilab.github.io/cereal): versions, `save`
/// and `load`, NVPs, shared pointers, and the containers for which cereal has headers.
///
///     template <> struct starling::codec<my::mesh> : starling::cereal_codec<my::mesh> {};
namespace starling {

/// A cereal archive that writes to a Starling archive.
template <class Out>
class cereal_output
    : public cereal::OutputArchive<cereal_output<Out>, cereal::AllowEmptyClassElision> {
 public:
  explicit cereal_output(Out& to) noexcept
      : cereal::OutputArchive<cereal_output, cereal::AllowEmptyClassElision>(this), m_to(to) {}
  [[nodiscard]] Out& archive() const noexcept { return m_to; }

 private:
  Out& m_to;
};

/// A cereal archive that reads from a Starling archive.
class cereal_input : public cereal::InputArchive<cereal_input, cereal::AllowEmptyClassElision> {
 public:
  explicit cereal_input(input_archive& from) noexcept
      : cereal::InputArchive<cereal_input, cereal::AllowEmptyClassElision>(this), m_from(from) {}
  [[nodiscard]] input_archive& archive() const noexcept { return m_from; }

  // cereal finds shared objects by numbers from the message, without a type: the two functions
  // below check the type.
  template <class T>
  void registerSharedPointer(std::uint32_t id, std::shared_ptr<T> object) {
    m_types.insert_or_assign(id & ~cereal::detail::msb_32bit, std::type_index(typeid(T)));
    base::registerSharedPointer(id, std::move(object));
  }
  std::shared_ptr<void> getSharedPointer(std::uint32_t id) {
    const auto type = m_types.find(id);
    if (id != 0 && (type == m_types.end() || type->second != m_expected))
      m_from.refuse("a shared pointer of cereal's", "the object is of another type");
    return base::getSharedPointer(id);
  }
  /// Sets the type of the shared pointer that is read next.
  void expect(std::type_index type) noexcept { m_expected = type; }

  /// Checks the size of a container before memory is allocated for it. Each element takes at least
  /// one byte, so the sizes of all containers together cannot exceed the bytes.
  /// @throws archive_error when they do
  void announce(std::uint64_t size) {
    if (size > m_unannounced) m_from.refuse_count("a container of cereal's", size, 1);
    m_unannounced -= size;
  }

 private:
  using base = cereal::InputArchive<cereal_input, cereal::AllowEmptyClassElision>;

  input_archive& m_from;
  std::uint64_t m_unannounced = m_from.left();
  std::unordered_map<std::uint32_t, std::type_index> m_types;
  std::type_index m_expected = typeid(void);
};

namespace detail {
/// Whether objects of T count as levels of nesting. These classes suffice: any type that can
/// contain itself contains one of them.
template <class T>
inline constexpr bool is_class_of_users =
    std::is_class_v<T> && !is_of_std<T> && !type_text<T>.starts_with("cereal::");
}  // namespace detail

// The functions that cereal requires of an archive, found by argument-dependent lookup.

template <class Out, class T>
void prologue(cereal_output<Out>& ar, const T&) {
  if constexpr (detail::is_class_of_users<T>) ar.archive().enter(detail::type_text<T>, sizeof(T));
}
template <class Out, class T>
void epilogue(cereal_output<Out>& ar, const T&) {
  if constexpr (detail::is_class_of_users<T>) ar.archive().leave(sizeof(T));
}
template <class T>
void prologue(cereal_input& ar, const T&) {
  if constexpr (detail::is_class_of_users<T>) ar.archive().enter(detail::type_text<T>, sizeof(T));
}
template <class T>
void epilogue(cereal_input& ar, const T&) {
  if constexpr (detail::is_class_of_users<T>) ar.archive().leave(sizeof(T));
}
template <class T>
void prologue(cereal_input& ar, const cereal::memory_detail::PtrWrapper<std::shared_ptr<T>&>&) {
  ar.expect(typeid(T));
}

template <class Out, class T>
requires std::is_arithmetic_v<T>
void save(cereal_output<Out>& ar, const T& number) { ar.archive()(number); }
template <class T>
requires std::is_arithmetic_v<T>
void load(cereal_input& ar, T& number) { ar.archive()(number); }

template <class Out, class T>
void save(cereal_output<Out>& ar, const cereal::NameValuePair<T>& named) {
  ar(named.value);
}
template <class T>
void load(cereal_input& ar, cereal::NameValuePair<T>& named) {
  ar(named.value);
}

template <class Out, class T>
void save(cereal_output<Out>& ar, const cereal::BinaryData<T>& data) {
  ar.archive().write(data.data, std::size_t(data.size));
}
template <class T>
void load(cereal_input& ar, cereal::BinaryData<T>& data) {
  constexpr const char* what = "an array of cereal's";
  ar.archive().read(data.data, std::size_t(data.size), what);
  if constexpr (detail::is_bool<
                    std::remove_cv_t<std::remove_pointer_t<std::remove_cvref_t<T>>>>()) {
    const auto* bytes = static_cast<const unsigned char*>(static_cast<const void*>(data.data));
    for (std::size_t i = 0; i < std::size_t(data.size); ++i)
      if (bytes[i] > 1) ar.archive().refuse(what, "a bool is neither 0 nor 1");
  }
}

template <class Out, class T>
void save(cereal_output<Out>& ar, const cereal::SizeTag<T>& tag) {
  ar.archive()(std::uint64_t(tag.size));
}
/// Refuses a size above the number of bytes left, as each element takes at least one byte. (cereal
/// writes no bytes for empty classes: their containers cannot be distinguished from a wrong size
/// and are refused at the end of a message.)
template <class T>
void load(cereal_input& ar, cereal::SizeTag<T>& tag) {
  const auto size = ar.archive().read<std::uint64_t>();
  if (size > ar.archive().left()) ar.archive().refuse_count("a container of cereal's", size, 1);
  ar.announce(size);
  tag.size = static_cast<std::remove_reference_t<T>>(size);
}

/// Codec that writes and reads T with cereal. T must have a default constructor. Include this
/// header before CEREAL_REGISTER_TYPE if pointers to base classes travel. Exceptions of cereal
/// while reading become archive_error.
template <class T>
struct cereal_codec {
  template <class Out>
  static void save(Out& ar, const T& value) {
    static_assert(cereal::traits::is_output_serializable<T, cereal_output<Out>>::value,
                  "cereal has no function that saves this type: include its header for it, such "
                  "as <cereal/types/vector.hpp>");
    cereal_output<Out> to(ar);
    to(value);
  }
  static T load(input_archive& ar) {
    static_assert(std::is_default_constructible_v<T>, "cereal loads into a default-made value");
    try {
      cereal_input from(ar);
      T value;
      from(value);
      return value;
    } catch (const cereal::Exception& e) {
      ar.refuse(detail::type_text<T>, e.what());
    }
  }
};

}  // namespace starling

CEREAL_REGISTER_ARCHIVE(starling::cereal_output<starling::counting_archive>)
CEREAL_REGISTER_ARCHIVE(starling::cereal_output<starling::output_archive>)
CEREAL_REGISTER_ARCHIVE(starling::cereal_input)

/// Pairs of input and output archives, for types with `save_minimal` and `load_minimal`.
namespace cereal::traits::detail {
template <>
struct get_output_from_input<starling::cereal_input> {
  using type = starling::cereal_output<starling::output_archive>;
};
template <class Out>
struct get_input_from_output<starling::cereal_output<Out>> {
  using type = starling::cereal_input;
};
}  // namespace cereal::traits::detail
