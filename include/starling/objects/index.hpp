// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <string>
#include <tuple>

#include <starling/device/types.hpp>

namespace starling {

struct index2 {
  int x = 0;
  int y = 0;
  friend bool operator==(const index2&, const index2&) = default;
};
struct index4 {
  int x = 0;
  int y = 0;
  int z = 0;
  int w = 0;
  friend bool operator==(const index4&, const index4&) = default;
};

namespace detail {

/// Returns the coordinates of an index of a dense array, x first; x varies fastest.
[[nodiscard]] constexpr std::array<int, 1> coordinates(int i) noexcept { return {i}; }
[[nodiscard]] constexpr std::array<int, 2> coordinates(index2 i) noexcept { return {i.x, i.y}; }
[[nodiscard]] constexpr std::array<int, 3> coordinates(index3 i) noexcept {
  return {i.x, i.y, i.z};
}
[[nodiscard]] constexpr std::array<int, 4> coordinates(index4 i) noexcept {
  return {i.x, i.y, i.z, i.w};
}

template <class Index>
inline constexpr std::size_t dimensions = coordinates(Index{}).size();

template <class Index>
[[nodiscard]] constexpr Index index_from(const std::array<int, dimensions<Index>>& c) noexcept {
  return std::apply([](auto... each) { return Index{each...}; }, c);
}

}  // namespace detail

/// An index of a dense array: int, index2, index3 or index4.
template <class Index>
concept dense_index = std::same_as<Index, int> || std::same_as<Index, index2> ||
    std::same_as<Index, index3> || std::same_as<Index, index4>;

/// The indices of a dense array: each coordinate is at least 0 and less than that of the extent.
/// The indices are numbered from 0 on; x varies fastest.
template <dense_index Index>
class shape {
 public:
  constexpr shape() noexcept = default;
  constexpr shape(const Index& extent) noexcept : m_extent(detail::coordinates(extent)) {}
  /// Implicit, so that `{nx, ny, nz}` is accepted as a shape.
  constexpr shape(int x, int y) noexcept requires(detail::dimensions<Index> == 2)
      : m_extent{x, y} {}
  constexpr shape(int x, int y, int z) noexcept requires(detail::dimensions<Index> == 3)
      : m_extent{x, y, z} {}
  constexpr shape(int x, int y, int z, int w) noexcept requires(detail::dimensions<Index> == 4)
      : m_extent{x, y, z, w} {}

  [[nodiscard]] constexpr Index extent() const noexcept {
    return detail::index_from<Index>(m_extent);
  }
  [[nodiscard]] constexpr std::size_t size() const noexcept {
    std::size_t n = 1;
    for (const int e : m_extent) n *= e > 0 ? std::size_t(e) : 0;
    return n;
  }
  [[nodiscard]] constexpr bool contains(const Index& i) const noexcept {
    const auto c = detail::coordinates(i);
    for (std::size_t d = 0; d < c.size(); ++d)
      if (c[d] < 0 || c[d] >= m_extent[d]) return false;
    return true;
  }
  /// Returns the number of index `i`, which must be within the shape.
  [[nodiscard]] constexpr std::size_t number_of(const Index& i) const noexcept {
    const auto c = detail::coordinates(i);
    std::size_t n = 0;
    for (std::size_t d = c.size(); d-- > 0;) n = n * std::size_t(m_extent[d]) + std::size_t(c[d]);
    return n;
  }
  /// Returns the index with this number, which must be less than size().
  [[nodiscard]] constexpr Index index_of(std::size_t number) const noexcept {
    std::array<int, detail::dimensions<Index>> c{};
    for (std::size_t d = 0; d < c.size(); ++d) {
      c[d] = int(number % std::size_t(m_extent[d]));
      number /= std::size_t(m_extent[d]);
    }
    return detail::index_from<Index>(c);
  }
  friend bool operator==(const shape&, const shape&) = default;

 private:
  std::array<int, detail::dimensions<Index>> m_extent{};
};

namespace detail {

/// Returns the text of an index in reports and errors: `7` or `(1, 2, 3)`.
template <dense_index Index>
[[nodiscard]] std::string text_of(const Index& i) {
  const auto c = coordinates(i);
  if (c.size() == 1) return std::to_string(c[0]);
  std::string text;
  for (const int k : c) text += (text.empty() ? "(" : ", ") + std::to_string(k);
  return text + ")";
}
/// Returns the text of a sparse array's index: the index if it converts to a string, else the
/// result of to_string, else `?`.
template <class Index>
[[nodiscard]] std::string text_of(const Index& i) {
  if constexpr (std::convertible_to<Index, std::string>)
    return i;
  else if constexpr (requires { std::string(to_string(i)); })
    return to_string(i);
  else if constexpr (requires { std::to_string(i); })
    return std::to_string(i);
  else
    return "?";
}

}  // namespace detail
}  // namespace starling
