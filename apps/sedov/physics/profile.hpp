// SPDX-License-Identifier: Apache-2.0
/// \file
/// Profiles of one variable along a line of cells, and their limiters.
#pragma once

#include "lanes.hpp"

namespace sedov {

/// Value in a cell and its offsets towards both ends of a line through it: the ends' values are
/// centre + up and centre - down. Offsets keep the limiter symmetric to the last bit.
template <class V>
struct profile {
  V centre, up, down;
  constexpr V upper() const { return centre + up; }
  constexpr V lower() const { return centre - down; }
};

/// Half the limited slope Delta = minmod(2 minmod(a, b), (a+b)/2) of two differences.
template <class V>
constexpr V half_slope(V a, V b) {
  using o = ops<V>;
  const V lower = o::min(o::max(a, b), V(0.0));
  const V upper = o::max(o::min(a, b), V(0.0));
  return o::min(o::max((a + b) * V(0.25), lower), upper);
}

template <class V>
constexpr V minmod(V a, V b) {
  using o = ops<V>;
  return o::max(o::min(a, b), V(0.0)) + o::min(o::max(a, b), V(0.0));
}

/// Piecewise-linear profile along `step`.
template <class V>
constexpr profile<V> linear_profile(const double* u, int step) {
  using o = ops<V>;
  const V c = o::load(u);
  const V s = V(0.5) * minmod(c - o::load(u - step), o::load(u + step) - c);
  return {c, s, s};
}

/// Limits both offsets as Colella & Woodward (1984) do: an extremum becomes flat, and where the
/// parabola would overshoot, one end moves until it does not. In offsets that is
/// up' = minmod(up, 2 down), down' = minmod(down, 2 up).
template <class V>
constexpr profile<V> monotone(profile<V> p) {
  using o = ops<V>;
  const V twice_up = p.up + p.up, twice_down = p.down + p.down;
  const V zero = V(0.0);
  return {p.centre, o::min(o::max(p.up, o::min(twice_down, zero)), o::max(twice_down, zero)),
          o::min(o::max(p.down, o::min(twice_up, zero)), o::max(twice_up, zero))};
}

/// The five values along a line, as differences.
template <class V>
struct line {
  V m1, centre, p1;
  V a, b, c, d;  // differences m1-m2, u-m1, p1-u, p2-p1

  constexpr line(const double* u, int step)
      : m1(ops<V>::load(u - step)), centre(ops<V>::load(u)), p1(ops<V>::load(u + step)),
        a(m1 - ops<V>::load(u - 2 * step)), b(centre - m1), c(p1 - centre),
        d(ops<V>::load(u + 2 * step) - p1) {}

  /// False where the limited profile is flat in any case: species that are not there, gas ahead
  /// of the shock. Worth asking, because that is much of most flows.
  constexpr bool varies() const {
    using o = ops<V>;
    return o::any(b != V(0.0)) || o::any(c != V(0.0));
  }
};

/// A line with the half slopes that PPM needs.
template <class V>
struct parabola : line<V> {
  V slope_down, slope, slope_up;

  constexpr explicit parabola(const line<V>& l)
      : line<V>(l), slope_down(half_slope(l.a, l.b)), slope(half_slope(l.b, l.c)),
        slope_up(half_slope(l.c, l.d)) {}

  /// q(i, i+1) = (u_i + u_i+1)/2 + (Delta_i - Delta_i+1)/6 at both ends.
  constexpr profile<V> ends() const {
    const V third = V(1.0 / 3.0), half = V(0.5);
    return {this->centre, half * this->c + third * (slope - slope_up),
            half * this->b + third * (slope - slope_down)};
  }
};

/// Contact steepening: pulls both ends towards the neighbours' own extrapolations where the
/// density jumps and the pressure (`jump` = D_d) does not.
template <class V>
constexpr profile<V> steepened(profile<V> p, const parabola<V>& l, V jump) {
  using o = ops<V>;
  const V dif = l.p1 - l.m1, size = o::abs(dif);
  const V up = o::abs(l.p1), down = o::abs(l.m1);
  const V least = o::min(up, down), most = o::max(up, down);
  const auto contact = jump * least < size;
  if (!o::any(contact)) return p;
  const V bend_up = l.d - l.c, bend_down = l.b - l.a;  // 6 d2p and 6 d2m
  const auto active =
      contact && least > V(1e-3) * most && bend_up * bend_down < V(0.0) && size > V(0.01) * least;
  const V ratio = (bend_down - bend_up) / (V(6.0) * dif);
  const V clipped = o::min(o::max(V(20.0) * (ratio - V(0.05)), V(0.0)), V(1.0));
  const V eta = o::select(active, clipped, V(0.0));
  p.up = p.up + eta * ((l.c - l.slope_up) - p.up);
  p.down = p.down + eta * ((l.b - l.slope_down) - p.down);
  return p;
}

/// How a variable is reconstructed.
enum class profile_kind { linear, smooth, limited, steepened };

/// The profile through *u along `step`; `jump` counts for steepened ones only.
template <class V, profile_kind Kind>
constexpr profile<V> profile_of(const double* u, int step, V jump) {
  if constexpr (Kind == profile_kind::linear) {
    return linear_profile<V>(u, step);
  } else {
    const line<V> l(u, step);
    if (Kind != profile_kind::smooth && !l.varies()) return {l.centre, V(0.0), V(0.0)};
    const parabola<V> p(l);
    if constexpr (Kind == profile_kind::smooth) return p.ends();
    if constexpr (Kind == profile_kind::limited) return monotone(p.ends());
    return monotone(steepened(p.ends(), p, jump));
  }
}

}  // namespace sedov
