// SPDX-License-Identifier: Apache-2.0
/// \file
/// Profiles of a variable along a line of cells, and their limiters.
#pragma once

#include <type_traits>

#include "kernel/lanes.hpp"

namespace stars {

/// The value in a cell and its offsets towards both ends of a line through it: the values at the
/// ends are centre + up and centre - down. Offsets keep the limiter symmetric to the last bit.
template <class V>
struct profile {
  V centre, up, down;
  [[gnu::always_inline]] constexpr V upper() const { return centre + up; }
  [[gnu::always_inline]] constexpr V lower() const { return centre - down; }
};

/// Returns half the limited slope Delta = minmod(2 minmod(a, b), (a+b)/2) of two differences.
template <class V>
[[gnu::always_inline]] constexpr V half_slope(V a, V b) {
  using o = ops<V>;
  const V lower = o::min(o::max(a, b), V(0.0));
  const V upper = o::max(o::min(a, b), V(0.0));
  return o::min(o::max((a + b) * V(0.25), lower), upper);
}

template <class V>
[[gnu::always_inline]] constexpr V minmod(V a, V b) {
  using o = ops<V>;
  return o::max(o::min(a, b), V(0.0)) + o::min(o::max(a, b), V(0.0));
}

/// Returns the piecewise-linear profile along `step`.
template <class V, class Cells>
[[gnu::always_inline]] constexpr profile<V> linear_profile(Cells u, int step) {
  using o = ops<V>;
  const V c = o::load(u);
  const V s = V(0.5) * minmod(c - o::load(u - step), o::load(u + step) - c);
  return {c, s, s};
}

/// Limits both offsets as in Colella & Woodward (1984): an extremum becomes flat, and where the
/// parabola would overshoot, one end moves until it does not. In offsets this is up' = minmod(up, 2
/// down), down' = minmod(down, 2 up).
template <class V>
[[gnu::always_inline]] constexpr profile<V> monotone(profile<V> p) {
  using o = ops<V>;
  const V twice_up = p.up + p.up, twice_down = p.down + p.down;
  const V zero = V(0.0);
  return {p.centre, o::min(o::max(p.up, o::min(twice_down, zero)), o::max(twice_down, zero)),
          o::min(o::max(p.down, o::min(twice_up, zero)), o::max(twice_up, zero))};
}

/// A cell and its neighbours on a line, with the half slopes of all three cells.
template <class V>
struct parabola {
  V m1, centre, p1;
  V b, c;  // differences u-m1, p1-u
  V slope_down, slope, slope_up;

  template <class Cells>
  [[gnu::always_inline]] constexpr parabola(Cells u, int step)
      : m1(ops<V>::load(u - step)), centre(ops<V>::load(u)), p1(ops<V>::load(u + step)),
        b(centre - m1), c(p1 - centre) {}

  /// Returns whether the limited profile is certainly flat: an absent species, gas ahead of a
  /// shock. The test pays, since this is a large part of most flows.
  [[gnu::always_inline]] constexpr bool flat() const {
    using o = ops<V>;
    return !o::any(b != V(0.0)) && !o::any(c != V(0.0));
  }
  template <class Cells>
  [[gnu::always_inline]] constexpr void find_slopes(Cells u, int step) {
    slope_down = half_slope(m1 - ops<V>::load(u - 2 * step), b);
    slope = half_slope(b, c);
    slope_up = half_slope(c, ops<V>::load(u + 2 * step) - p1);
  }
  /// Loads the half slopes from an array laid out like u.
  template <class Cells>
  [[gnu::always_inline]] constexpr void load_slopes(Cells slopes, int step) {
    slope_down = ops<V>::load(slopes - step);
    slope = ops<V>::load(slopes);
    slope_up = ops<V>::load(slopes + step);
  }

  /// Returns the interface values q(i, i+1) = (u_i + u_i+1)/2 + (Delta_i - Delta_i+1)/6 at both
  /// ends.
  [[gnu::always_inline]] constexpr profile<V> ends() const {
    const V third = V(1.0 / 3.0), half = V(0.5);
    return {centre, half * c + third * (slope - slope_up), half * b + third * (slope - slope_down)};
  }
};

/// Contact steepening: moves both ends towards the extrapolations of the neighbours, where the
/// density jumps and the pressure (`jump` = D_d) does not.
template <class V, class Cells>
[[gnu::always_inline]] constexpr profile<V> steepened(profile<V> p, const parabola<V>& l, Cells u,
                                                      int step, V jump) {
  using o = ops<V>;
  const V dif = l.p1 - l.m1, size = o::abs(dif);
  const V up = o::abs(l.p1), down = o::abs(l.m1);
  const V least = o::min(up, down);
  const auto contact = jump * least < size;
  if (!o::any(contact)) return p;
  const V most = o::max(up, down);
  const V bend_up = (o::load(u + 2 * step) - l.p1) - l.c;    // 6 d2p
  const V bend_down = l.b - (l.m1 - o::load(u - 2 * step));  // 6 d2m
  const auto active =
      contact && least > V(1e-3) * most && bend_up * bend_down < V(0.0) && size > V(0.01) * least;
  const V ratio = (bend_down - bend_up) / (V(6.0) * dif);
  const V clipped = o::min(o::max(V(20.0) * (ratio - V(0.05)), V(0.0)), V(1.0));
  const V eta = o::select(active, clipped, V(0.0));
  p.up = p.up + eta * ((l.c - l.slope_up) - p.up);
  p.down = p.down + eta * ((l.b - l.slope_down) - p.down);
  return p;
}

/// The method by which a variable is reconstructed.
enum class profile_kind { linear, smooth, limited, steepened };

/// Returns the profile through *u along `step`. `jump` is used for steepened profiles only;
/// `slopes`, if not null, points to the half slopes of the cells at u.
template <class V, profile_kind Kind, class Cells>
[[gnu::always_inline]] constexpr profile<V> profile_of(Cells u, int step,
                                                       std::type_identity_t<Cells> slopes,
                                                       std::type_identity_t<Cells> jump) {
  if constexpr (Kind == profile_kind::linear) {
    return linear_profile<V>(u, step);
  } else {
    parabola<V> p(u, step);
    if (Kind != profile_kind::smooth && p.flat()) return {p.centre, V(0.0), V(0.0)};
    if (slopes != nullptr) {
      p.load_slopes(slopes, step);
    } else {
      p.find_slopes(u, step);
    }
    if constexpr (Kind == profile_kind::smooth) return p.ends();
    if constexpr (Kind == profile_kind::limited) return monotone(p.ends());
    return monotone(steepened(p.ends(), p, u, step, ops<V>::load(jump)));
  }
}

}  // namespace stars
