// SPDX-License-Identifier: Apache-2.0
/// \file
/// x^y from +, -, *, / and bit operations alone, so that every machine gives the same bits.
#pragma once

#include <bit>
#include <cstdint>

namespace sedov {

namespace power_detail {

/// Unevaluated sum of two doubles, |low| at most half a unit in the last place of high.
struct pair {
  double high, low;
};

constexpr pair sum_ordered(double a, double b) {  // needs |a| >= |b| or a == 0
  const double s = a + b;
  return {s, b - (s - a)};
}

/// Exact product by Dekker's splitting; the factors must be below 1e290 in size.
constexpr pair product(double a, double b) {
  const double split = 134217729.0;  // 2^27 + 1
  const double ta = split * a, tb = split * b;
  const double ah = ta - (ta - a), bh = tb - (tb - b);
  const double al = a - ah, bl = b - bh;
  const double p = a * b;
  return {p, ((ah * bh - p) + ah * bl + al * bh) + al * bl};
}

constexpr double two_to(int n) {  // -1022 <= n <= 1023
  return std::bit_cast<double>(static_cast<std::uint64_t>(n + 1023) << 52);
}

// ln 2 in three parts; products of the first with |n| < 2^11 are exact.
inline constexpr double ln2_high = 0x1.62e42fefa3800p-1;
inline constexpr double ln2_low = 0x1.ef35793c76730p-45;

/// Natural logarithm to about 68 bits, x > 0 and finite.
constexpr pair log_extended(double x) {
  int k = 0;
  if (x < 0x1p-1022) {  // subnormal
    x *= 0x1p54;
    k = -54;
  }
  const auto bits = std::bit_cast<std::uint64_t>(x);
  k += static_cast<int>(bits >> 52) - 1023;
  double m = std::bit_cast<double>((bits & 0x000fffffffffffffu) | 0x3ff0000000000000u);
  if (m > 1.4142135623730951) {
    m *= 0.5;
    k += 1;
  }
  // ln m = 2 artanh(s), s = (m-1)/(m+1), with the rounding error of s kept.
  const double f = m - 1.0;
  const double g = m + 1.0;
  const double g_low = m - (g - 1.0);
  const double s = f / g;
  const pair sg = product(s, g);
  const double s_low = (((f - sg.high) - sg.low) - s * g_low) / g;
  const double q = s * s;
  // 2 (1/3 + q/5 + q^2/7 + ...): |q| < 0.0295, so eleven terms reach 2^-62 of the sum.
  double t = 2.0 / 23.0;
  t = t * q + 2.0 / 21.0;
  t = t * q + 2.0 / 19.0;
  t = t * q + 2.0 / 17.0;
  t = t * q + 2.0 / 15.0;
  t = t * q + 2.0 / 13.0;
  t = t * q + 2.0 / 11.0;
  t = t * q + 2.0 / 9.0;
  t = t * q + 2.0 / 7.0;
  t = t * q + 2.0 / 5.0;
  t = t * q + 2.0 / 3.0;
  const double tail = s * q * t + 2.0 * s_low;
  const pair head = sum_ordered(k * ln2_high, 2.0 * s);
  if (k == 0) return sum_ordered(2.0 * s, tail);
  return sum_ordered(head.high, head.low + (tail + k * ln2_low));
}

/// e^(high + low) for a result between 1e-320 and 1e305.
constexpr double exp_extended(pair z) {
  const double shift = 6755399441055744.0;
  const double n = (z.high * 1.4426950408889634 + shift) - shift;
  const pair r = sum_ordered(z.high - n * ln2_high, z.low - n * ln2_low);
  const double x = r.high;
  double t = 1.0 / 6227020800.0;
  t = t * x + 1.0 / 479001600.0;
  t = t * x + 1.0 / 39916800.0;
  t = t * x + 1.0 / 3628800.0;
  t = t * x + 1.0 / 362880.0;
  t = t * x + 1.0 / 40320.0;
  t = t * x + 1.0 / 5040.0;
  t = t * x + 1.0 / 720.0;
  t = t * x + 1.0 / 120.0;
  t = t * x + 1.0 / 24.0;
  t = t * x + 1.0 / 6.0;
  t = t * x + 0.5;
  const double y = 1.0 + (x + (x * x * t + r.low));
  const int e = static_cast<int>(n);
  const int half = e / 2;  // two factors, so that subnormal results round once, at the end
  return (y * two_to(e - half)) * two_to(half);
}

}  // namespace power_detail

/// x^y for x >= 0 and moderate y > 0, within 2 units in the last place. 0 for x <= 0 (an energy
/// that has been lost), x itself for infinity and not-a-number.
[[gnu::noinline]] constexpr double power(double x, double y) {
  if (x <= 0.0) return 0.0;
  if (!(x <= 0x1.fffffffffffffp+1023)) return x;
  const power_detail::pair l = power_detail::log_extended(x);
  power_detail::pair z = power_detail::product(l.high, y);
  z.low += l.low * y;
  if (z.high > 709.0) return 0x1p1023 * 2.0;
  if (z.high < -744.0) return 0.0;
  return power_detail::exp_extended(z);
}

}  // namespace sedov
