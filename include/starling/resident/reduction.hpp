// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstdint>

#include <starling/resident/detail/bytes.hpp>

namespace starling::resident {

/// The result of `context::scan`: the sum over threads with lower ranks, and over all threads.
template <class T>
struct prefix_sum {
  T before;
  T all;
};

}  // namespace starling::resident

/// Operations of reductions over the elements of a resident array.
namespace starling::resident::reduction {

/// An operation, applied in the order in which values arrive: floating-point results may differ in
/// the last bits from run to run.
enum class operation : std::uint8_t { sum, product, min, max };
inline constexpr operation sum = operation::sum;
inline constexpr operation product = operation::product;
inline constexpr operation min = operation::min;
inline constexpr operation max = operation::max;

}  // namespace starling::resident::reduction

namespace starling::resident::detail {

/// The type of a contributed value; `none`: a barrier, or a type that cannot be reduced.
enum class scalar : std::uint8_t { none, int32, uint32, int64, uint64, float32, float64 };

template <class T>
[[nodiscard]] constexpr scalar scalar_of() noexcept {
  if constexpr (std::same_as<T, float>)
    return scalar::float32;
  else if constexpr (std::same_as<T, double>)
    return scalar::float64;
  else if constexpr (std::unsigned_integral<T>)
    return sizeof(T) == 8 ? scalar::uint64 : sizeof(T) == 4 ? scalar::uint32 : scalar::none;
  else if constexpr (std::signed_integral<T>)
    return sizeof(T) == 8 ? scalar::int64 : sizeof(T) == 4 ? scalar::int32 : scalar::none;
  else
    return scalar::none;
}

/// A type whose values can be reduced.
template <class T>
concept reducible = scalar_of<T>()
!= scalar::none;

template <class T>
constexpr void combine_values(reduction::operation how, unsigned char* into,
                              const unsigned char* from) noexcept {
  T a = load_as<T>(into);
  const T b = load_as<T>(from);
  switch (how) {
    case reduction::operation::sum:
      a = static_cast<T>(a + b);
      break;
    case reduction::operation::product:
      a = static_cast<T>(a * b);
      break;
    case reduction::operation::min:
      a = b < a ? b : a;
      break;
    case reduction::operation::max:
      a = a < b ? b : a;
      break;
  }
  store_as(into, a);
}

constexpr void combine(scalar type, reduction::operation how, unsigned char* into,
                       const unsigned char* from) noexcept {
  switch (type) {
    case scalar::none:
      break;
    case scalar::int32:
      return combine_values<std::int32_t>(how, into, from);
    case scalar::uint32:
      return combine_values<std::uint32_t>(how, into, from);
    case scalar::int64:
      return combine_values<std::int64_t>(how, into, from);
    case scalar::uint64:
      return combine_values<std::uint64_t>(how, into, from);
    case scalar::float32:
      return combine_values<float>(how, into, from);
    case scalar::float64:
      return combine_values<double>(how, into, from);
  }
}

}  // namespace starling::resident::detail
