// SPDX-License-Identifier: Apache-2.0
/// \file
/// The operations that kernel bodies are written in, for one value (V = double). The vector form
/// is in lanes_simd.hpp. Every operation is IEEE-exact with a fixed operand order, so that both
/// forms give the same bits.
#pragma once

#include <cmath>

namespace sedov {

template <class V>
struct ops;

template <>
struct ops<double> {
  static constexpr int width = 1;
  using mask = bool;

  static constexpr double load(const double* p) { return *p; }
  static constexpr void store(double* p, double v) { *p = v; }
  /// Lanes lo … hi-1.
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
  /// f(a) where m holds, else b; f is scalar.
  template <class F>
  static constexpr double map_where(bool m, double a, double b, F f) {
    return m ? f(a) : b;
  }
};

/// Nearest integer for |a| < 2^51, by the rounding of the addition itself.
template <class V>
constexpr V nearest(V a) {
  const double shift = 6755399441055744.0;  // 1.5 * 2^52
  return (a + V(shift)) - V(shift);
}

}  // namespace sedov
