// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>

#include <cereal/cereal.hpp>

#include <starling/objects/archive.hpp>

/// For classes that know cereal (https://uscilab.github.io/cereal): with versions, `save` and
/// `load`, NVPs, shared pointers, and the containers for which cereal has headers.
///
///     template <> struct starling::codec<my::mesh> : starling::cereal_codec<my::mesh> {};
namespace starling {

/// An archive of cereal's that writes to one of Starling's.
template <class Out>
class cereal_output
    : public cereal::OutputArchive<cereal_output<Out>, cereal::AllowEmptyClassElision> {
 public:
  explicit cereal_output(Out& to) noexcept
      : cereal::OutputArchive<cereal_output, cereal::AllowEmptyClassElision>(this), m_to(to) {}
  [[nodiscard]] Out& native() const noexcept { return m_to; }

 private:
  Out& m_to;
};

class cereal_input : public cereal::InputArchive<cereal_input, cereal::AllowEmptyClassElision> {
 public:
  explicit cereal_input(input_archive& from) noexcept
      : cereal::InputArchive<cereal_input, cereal::AllowEmptyClassElision>(this), m_from(from) {}
  [[nodiscard]] input_archive& native() const noexcept { return m_from; }

 private:
  input_archive& m_from;
};

// What cereal asks of an archive, found by their first argument.

template <class Out, class T>
requires std::is_arithmetic_v<T>
void save(cereal_output<Out>& ar, const T& number) { ar.native()(number); }
template <class T>
requires std::is_arithmetic_v<T>
void load(cereal_input& ar, T& number) { ar.native()(number); }

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
  ar.native().write(data.data, std::size_t(data.size));
}
template <class T>
void load(cereal_input& ar, cereal::BinaryData<T>& data) {
  ar.native().read(data.data, std::size_t(data.size), "an array of cereal's");
}

template <class Out, class T>
void save(cereal_output<Out>& ar, const cereal::SizeTag<T>& tag) {
  ar.native()(std::uint64_t(tag.size));
}
/// Each element takes a byte or more (cereal writes nothing for empty classes: those cannot be
/// told from a wrong size, and are refused at the end of a message).
template <class T>
void load(cereal_input& ar, cereal::SizeTag<T>& tag) {
  const auto size = ar.native().read<std::uint64_t>();
  if (size > ar.native().left()) ar.native().refuse_count("a container of cereal's", size, 1);
  tag.size = static_cast<std::remove_reference_t<T>>(size);
}

/// Lets T travel as cereal writes it. T has a default constructor. Where pointers to base classes
/// travel, this header comes before CEREAL_REGISTER_TYPE. @throws archive_error also for exceptions
/// of cereal's
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

/// Which archives belong together, for types with `save_minimal` and `load_minimal`.
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
