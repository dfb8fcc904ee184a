// SPDX-License-Identifier: Apache-2.0
/// \file
/// Profiles of a variable along a line of cells, and their limiters.
#pragma once

#include <type_traits>

#include "hydro/scheme.hpp"
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

/// Returns `a` where `mask` is set, elsewhere `b`.
template <class V, class Mask>
[[gnu::always_inline]] constexpr profile<V> select(const Mask& mask, const profile<V>& a,
                                                   const profile<V>& b) {
  using o = ops<V>;
  return {a.centre, o::select(mask, a.up, b.up), o::select(mask, a.down, b.down)};
}

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

  /// Return the second differences of the cells above and below.
  template <class Cells>
  [[gnu::always_inline]] constexpr V bend_up(Cells u, int step) const {
    return (ops<V>::load(u + 2 * step) - p1) - c;
  }
  template <class Cells>
  [[gnu::always_inline]] constexpr V bend_down(Cells u, int step) const {
    return b - (m1 - ops<V>::load(u - 2 * step));
  }

  /// Returns the interface values q(i, i+1) = (u_i + u_i+1)/2 + (Delta_i - Delta_i+1)/6 at both
  /// ends.
  [[gnu::always_inline]] constexpr profile<V> ends() const {
    const V third = V(1.0 / 3.0), half = V(0.5);
    return {centre, half * c + third * (slope - slope_up), half * b + third * (slope - slope_down)};
  }
};

/// Returns the value of least size among a curvature and two second differences, these enlarged by
/// a factor, if all have the same sign, otherwise zero.
template <class V>
[[gnu::always_inline]] constexpr V limited_curvature(V curvature, V one, V two) {
  using o = ops<V>;
  const V factor = V(1.25);
  const V least = o::min(o::min(one, two) * factor, curvature);
  const V most = o::max(o::max(one, two) * factor, curvature);
  return o::max(least, V(0.0)) + o::min(most, V(0.0));
}

/// Returns the offset of an interface of fourth order, (7 (u_i + u_i+1) - u_i-1 - u_i+2) / 12 -
/// u_i, from u_i+1 - u_i and the second differences of the cells i and i + 1. A value that is not
/// between the two cells gets a limited curvature.
template <class V>
[[gnu::always_inline]] constexpr V interface_offset(V difference, V bend, V next_bend) {
  using o = ops<V>;
  const V middle = V(0.5) * difference;
  const V offset = middle - V(1.0 / 12.0) * (bend + next_bend);
  const V curvature = V(3.0) * (difference - (offset + offset));
  const V limited = middle - V(1.0 / 6.0) * limited_curvature(curvature, bend, next_bend);
  return o::select(offset * (difference - offset) < V(0.0), limited, offset);
}

/// Makes a profile flat where an end is not between zero and three times the mean, which `monotone`
/// ensures for positive cells: for densities and energies. More flux could empty a cell.
template <class V>
[[gnu::always_inline]] constexpr profile<V> positive(const profile<V>& p) {
  using o = ops<V>;
  const V zero = V(0.0);
  const V upper = p.upper(), lower = p.lower();
  const auto is_beyond = o::min(upper, lower) <= zero || o::max(upper, lower) > V(3.0) * p.centre;
  return select(is_beyond, profile<V>{p.centre, zero, zero}, p);
}

/// Returns the parabola through interface values of fourth order, limited as by P. Colella, M. D.
/// Sekora, J. Comput. Phys. 227 (2008) 7069: at an extremum, second differences of one sign show
/// that the flow is smooth, and limit the curvature; elsewhere `monotone`.
template <class V, class Cells>
[[gnu::always_inline]] constexpr profile<V> smooth_extrema(const parabola<V>& l, Cells u,
                                                           int step) {
  using o = ops<V>;
  const V zero = V(0.0);
  const V bend = l.c - l.b;
  const V bend_up = l.bend_up(u, step), bend_down = l.bend_down(u, step);
  const profile<V> p{l.centre, interface_offset(l.c, bend, bend_up),
                     -interface_offset(-l.b, bend, bend_down)};
  const profile<V> elsewhere = monotone(p);
  const auto is_extremum = p.up * p.down <= zero || l.b * l.c <= zero;
  if (!o::any(is_extremum)) return elsewhere;
  const V curvature = V(6.0) * (p.up - p.down);
  const V above = limited_curvature(curvature, bend, bend_up);
  const V below = limited_curvature(curvature, bend, bend_down);
  const V kept = o::select(curvature > zero, o::min(above, below), o::max(above, below));
  const V share = o::select(kept == zero, zero, kept / curvature);
  return select(is_extremum, profile<V>{l.centre, share * p.up, share * p.down}, elsewhere);
}

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
  const V bend_up = l.bend_up(u, step), bend_down = l.bend_down(u, step);  // 6 d2p, 6 d2m
  const auto active =
      contact && least > V(1e-3) * most && bend_up * bend_down < V(0.0) && size > V(0.01) * least;
  const V ratio = (bend_down - bend_up) / (V(6.0) * dif);
  const V clipped = o::min(o::max(V(20.0) * (ratio - V(0.05)), V(0.0)), V(1.0));
  const V eta = o::select(active, clipped, V(0.0));
  p.up = p.up + eta * ((l.c - l.slope_up) - p.up);
  p.down = p.down + eta * ((l.b - l.slope_down) - p.down);
  return p;
}

/// The method by which a variable is reconstructed. The last three keep smooth extrema; `ppmx` uses
/// them in place of `limited`, `positive` and `steepened`. `ppm` treats `positive` variables, such
/// as energies, like `limited` ones; `positive_x` bounds their ends.
enum class profile_kind {
  linear,
  smooth,
  limited,
  positive,
  steepened,
  limited_x,
  positive_x,
  steepened_x
};

/// Returns the method by which the reconstruction `how` treats a variable. `kind`: one of the first
/// five.
constexpr profile_kind profile_with(reconstruction_kind how, profile_kind kind) {
  using enum profile_kind;
  if (how == reconstruction_kind::minmod) return linear;
  const bool keeps = how == reconstruction_kind::ppmx;
  if (kind == limited) return keeps ? limited_x : limited;
  if (kind == positive) return keeps ? positive_x : limited;
  if (kind == steepened) return keeps ? steepened_x : steepened;
  return kind;
}
/// Whether a method needs the half slopes of a cell and its neighbours.
constexpr bool uses_slopes(profile_kind kind) {
  using enum profile_kind;
  return kind == smooth || kind == limited || kind == steepened || kind == steepened_x;
}

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
    if constexpr (Kind == profile_kind::limited_x) {
      return smooth_extrema(p, u, step);
    } else if constexpr (Kind == profile_kind::positive_x) {
      return positive(smooth_extrema(p, u, step));
    } else {
      if (slopes != nullptr) {
        p.load_slopes(slopes, step);
      } else {
        p.find_slopes(u, step);
      }
      if constexpr (Kind == profile_kind::smooth) {
        return p.ends();
      } else if constexpr (Kind == profile_kind::limited) {
        return monotone(p.ends());
      } else if constexpr (Kind == profile_kind::steepened) {
        return monotone(steepened(p.ends(), p, u, step, ops<V>::load(jump)));
      } else {
        static_assert(Kind == profile_kind::steepened_x);
        const profile<V> kept = positive(smooth_extrema(p, u, step));
        const profile<V> steep = steepened(kept, p, u, step, ops<V>::load(jump));
        return select(steep.up != kept.up || steep.down != kept.down, monotone(steep), kept);
      }
    }
  }
}

}  // namespace stars
