// SPDX-License-Identifier: Apache-2.0
/// \file
/// x^y from +, -, *, / and bit operations only, so that every machine gives the same bits.
#pragma once

#include <limits>

#include "kernel/lanes.hpp"

namespace stars {

namespace power_detail {

/// Unevaluated sum of two numbers; |low| is at most half a unit in the last place of high.
template <class V>
struct pair {
  V high, low;
};

template <class V>
constexpr pair<V> sum_ordered(V a, V b) {  // needs |a| >= |b| or a == 0
  const V s = a + b;
  return {s, b - (s - a)};
}

/// Returns the exact product, by Dekker's splitting; the factors must be below 1e290 in magnitude.
template <class V>
constexpr pair<V> product(V a, V b) {
  const V split = V(134217729.0);  // 2^27 + 1
  const V ta = split * a, tb = split * b;
  const V ah = ta - (ta - a), bh = tb - (tb - b);
  const V al = a - ah, bl = b - bh;
  const V p = a * b;
  return {p, ((ah * bh - p) + ah * bl + al * bh) + al * bl};
}

/// Returns c[0] x^(N-1) + … + c[N-1], by Horner's rule.
template <class V, int N>
constexpr V polynomial(V x, const double (&c)[N]) {
  V sum = V(c[0]);
  for (int i = 1; i < N; ++i) sum = sum * x + V(c[i]);
  return sum;
}

// ln 2 in two parts; products of the first with |n| < 2^11 are exact.
inline constexpr double ln2_high = 0x1.62e42fefa3800p-1;
inline constexpr double ln2_low = 0x1.ef35793c76730p-45;

/// Returns the natural logarithm to about 68 bits; x is positive and finite.
template <class V>
constexpr pair<V> log_extended(V x) {
  using o = ops<V>;
  const auto subnormal = x < V(0x1p-1022);
  const V scaled = o::select(subnormal, x * V(0x1p54), x);
  const V whole = o::mantissa(scaled);
  const auto upper = whole > V(1.4142135623730951);
  const V m = o::select(upper, whole * V(0.5), whole);
  const V k = o::exponent(scaled) +
              (o::select(subnormal, V(-54.0), V(0.0)) + o::select(upper, V(1.0), V(0.0)));
  // ln m = 2 artanh(s), s = (m-1)/(m+1), with the rounding error of s kept.
  const V f = m - V(1.0);
  const V g = m + V(1.0);
  const V g_low = m - (g - V(1.0));
  const V s = f / g;
  const pair<V> sg = product(s, g);
  const V s_low = (((f - sg.high) - sg.low) - s * g_low) / g;
  const V q = s * s;
  // 2 (1/3 + q/5 + q^2/7 + ...): |q| < 0.0295, so eleven terms reach 2^-62 of the sum.
  const V t = polynomial(q, {2.0 / 23.0, 2.0 / 21.0, 2.0 / 19.0, 2.0 / 17.0, 2.0 / 15.0, 2.0 / 13.0,
                             2.0 / 11.0, 2.0 / 9.0, 2.0 / 7.0, 2.0 / 5.0, 2.0 / 3.0});
  const V tail = s * q * t + V(2.0) * s_low;
  const pair<V> head = sum_ordered(k * V(ln2_high), V(2.0) * s);
  const pair<V> small = sum_ordered(V(2.0) * s, tail);
  const pair<V> sum = sum_ordered(head.high, head.low + (tail + k * V(ln2_low)));
  const auto near_one = k == V(0.0);
  return {o::select(near_one, small.high, sum.high), o::select(near_one, small.low, sum.low)};
}

/// Returns e^(high + low), if the result is between 1e-320 and 1e305.
template <class V>
constexpr V exp_extended(pair<V> z) {
  const V n = nearest(z.high * V(1.4426950408889634));
  const pair<V> r = sum_ordered(z.high - n * V(ln2_high), z.low - n * V(ln2_low));
  const V x = r.high;
  const V t = polynomial(
      x, {1.0 / 6227020800.0, 1.0 / 479001600.0, 1.0 / 39916800.0, 1.0 / 3628800.0, 1.0 / 362880.0,
          1.0 / 40320.0, 1.0 / 5040.0, 1.0 / 720.0, 1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5});
  return ops<V>::scaled(V(1.0) + (x + (x * x * t + r.low)), n);
}

}  // namespace power_detail

/// Returns x^y for x >= 0 and moderate y > 0, within 2 units in the last place. Returns 0 for x <=
/// 0 (an energy lost in rounding), and x itself for infinity and NaN.
template <class V>
[[gnu::noinline]] constexpr V power(V x, double y) {
  using o = ops<V>;
  using power_detail::pair;
  const V infinity = V(std::numeric_limits<double>::infinity());
  const auto usable = x > V(0.0) && x < infinity;
  const V base = o::select(usable, x, V(1.0));
  const pair<V> l = power_detail::log_extended(base);
  pair<V> z = power_detail::product(l.high, V(y));
  z.low = z.low + l.low * V(y);
  const auto huge = z.high > V(709.0), tiny = z.high < V(-744.0);
  const auto outside = huge || tiny;
  const V inside = power_detail::exp_extended<V>(
      {o::select(outside, V(0.0), z.high), o::select(outside, V(0.0), z.low)});
  const V result = o::select(huge, infinity, o::select(tiny, V(0.0), inside));
  return o::select(usable, result, o::select(x <= V(0.0), V(0.0), x));
}

}  // namespace stars
