// SPDX-License-Identifier: Apache-2.0
/// \file
/// The operations of kernel bodies, for one value (V = double). The vector form is in
/// lanes_simd.hpp. Every operation is IEEE-exact with a fixed operand order, so that both forms
/// give the same bits.
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace stars {

template <class V>
struct ops;

/// Returns the value of the member `sweep` of kernels for vectors of `width` lanes: 0 for one lane.
constexpr int sweep_of(int width) { return width > 1 ? width : 0; }

/// Two neighbouring cells in each of several rows; all of them fill one vector. The first cell of a
/// row is at `base + offset`.
struct row_pairs {
  const double* base;
  const short* offsets;

  constexpr row_pairs operator+(int offset) const { return {base + offset, offsets}; }
  constexpr row_pairs operator-(int offset) const { return {base - offset, offsets}; }
  constexpr bool operator==(std::nullptr_t) const { return base == nullptr; }
};

template <>
struct ops<double> {
  static constexpr int width = 1;
  using mask = bool;

  static constexpr double load(const double* p) { return *p; }
  static constexpr void store(double* p, double v) { *p = v; }
  /// Load and store values with a distance of `stride`.
  static constexpr double load(const double* p, int) { return *p; }
  static constexpr void store(double* p, int, double v) { *p = v; }
  /// Returns the mask of lanes lo … hi-1.
  static constexpr mask lanes_between(int lo, int hi) { return lo <= 0 && hi > 0; }
  static constexpr void store_where(const mask& m, double* p, double v) {
    if (m) *p = v;
  }
  static constexpr double iota() { return 0.0; }
  static constexpr double select(bool m, double a, double b) { return m ? a : b; }
  static constexpr bool any(bool m) { return m; }
  static constexpr double min(double a, double b) { return a < b ? a : b; }
  static constexpr double max(double a, double b) { return a > b ? a : b; }
  template <class T>
  static constexpr T abs(T a) {
    return std::fabs(a);
  }
  template <class T>
  static constexpr T sqrt(T a) {
    return std::sqrt(a);
  }
  /// Return the exponent and the mantissa of a = mantissa 2^exponent; a is positive and normal, the
  /// mantissa is in [1, 2).
  static constexpr double exponent(double a) {
    return static_cast<double>(static_cast<int>(std::bit_cast<std::uint64_t>(a) >> 52) - 1023);
  }
  static constexpr double mantissa(double a) {
    const auto bits = std::bit_cast<std::uint64_t>(a);
    return std::bit_cast<double>((bits & 0x000fffffffffffffu) | 0x3ff0000000000000u);
  }
  /// Returns a 2^n for an integer n, |n| < 2045. Two factors, so that subnormal results round once,
  /// at the end.
  static constexpr double scaled(double a, double n) {
    const int e = static_cast<int>(n), half = e / 2;
    return (a * two_to(e - half)) * two_to(half);
  }

 private:
  static constexpr double two_to(int n) {
    return std::bit_cast<double>(static_cast<std::uint64_t>(n + 1023) << 52);
  }
};

/// Returns the nearest integer for |a| < 2^51, by the rounding of the addition itself.
template <class V>
constexpr V nearest(V a) {
  const double shift = 6755399441055744.0;  // 1.5 * 2^52
  return (a + V(shift)) - V(shift);
}

}  // namespace stars
