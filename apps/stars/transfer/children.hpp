// SPDX-License-Identifier: Apache-2.0
/// \file
/// The values of eight children from those of a coarse cell and its 26 neighbours.
#pragma once

#include "kernel/lanes.hpp"
#include "kernel/unrolled.hpp"
#include "mesh/octant_cells.hpp"

namespace stars {

inline constexpr int stencil_count = direction_count + 1;
/// The coarse cell in its stencil. The cell at (x, y, z) from it, each -1, 0 or 1, is at
/// stencil_centre + x + 3y + 9z, so opposite ones are equally far from it.
inline constexpr int stencil_centre = direction_count / 2;

/// Opposite children: pair p is child 7 - p and child p.
inline constexpr int child_pairs = 4;

/// For ghosts: the largest theta with which children stay between the values of their coarse cell
/// and its neighbours, since the weights of `deviations` add up to 37/64.
inline constexpr double theta_of_ghosts = 64.0 / 37.0;
/// For new sub-grids: plain minmod.
inline constexpr double theta_of_refinement = 1.0;

/// Returns minmod(theta minmod(a, b), (a + b)/2). The order of a and b has no influence on the
/// bits, and the opposite of both gives the opposite. NaN if a or b is.
template <class V>
constexpr V limited_slope(const V& a, const V& b, double theta) {
  using o = ops<V>;
  const V zero = V(0.0);
  const V mean = V(0.5) * (a + b);
  const V least = V(theta) * o::select(o::abs(a) < o::abs(b), a, b);
  const V slope = o::select(o::abs(least) < o::abs(mean), least, mean);
  // Not by the sign of a b, which underflows.
  const auto extremum = (a < zero && b > zero) || (a > zero && b < zero);
  return o::select(extremum, zero, slope);
}

/// d[p] <- the deviation of child 7 - p, and the opposite of the deviation of child p, from their
/// coarse cell u[stencil_centre]. Exact for linear values. Mirror images have the same bits.
template <class V>
constexpr void deviations(const V (&u)[stencil_count], double theta, V (&d)[child_pairs]) {
  constexpr int c = stencil_centre, x = 1, y = 3, z = 9;
  V s[stencil_centre + 1] = {};
  unrolled<1, c + 1>([&](auto k) __attribute__((always_inline)) {
    s[k] = limited_slope<V>(u[c + k] - u[c], u[c] - u[c - k], theta);
  });
  const auto sum = [](const V& faces, const V& edges, const V& vertex) {
    return (V(9.0 / 64.0) * faces + V(3.0 / 64.0) * edges) + V(1.0 / 64.0) * vertex;
  };
  d[0] = sum((s[x] + s[y]) + s[z], (s[x + y] + s[z + x]) + s[z + y], s[x + y + z]);
  d[1] = sum((s[y] - s[x]) + s[z], (s[y - x] + s[z - x]) + s[z + y], s[z + y - x]);
  d[2] = sum((s[x] - s[y]) + s[z], (s[z + x] - s[y - x]) + s[z - y], s[z - y + x]);
  d[3] = sum(s[z] - (s[x] + s[y]), (s[z - x] - s[x + y]) + s[z - y], s[z - y - x]);
}

/// Returns a deviation that keeps the sign of the mean in both children. Positive neighbours allow
/// no larger one, except for rounding.
template <class V>
constexpr V within(const V& mean, const V& deviation) {
  using o = ops<V>;
  const V most = o::abs(mean) * V(1.0 - 0x1p-50);
  return o::select(deviation > most, most, o::select(deviation < -most, -most, deviation));
}

/// Computes the children mean + deviation and mean - deviation. If |deviation| <= |mean|, the sum
/// of both is 2 mean without rounding: the larger child is rounded first, and the remainder of 2
/// mean has no more digits than the mean. Otherwise their mean is wrong by at most one unit in the
/// last place of the larger child.
template <class V>
constexpr void split(const V& mean, const V& deviation, V& plus, V& minus) {
  using o = ops<V>;
  const V size = o::abs(deviation);
  const V outward = o::select(mean < V(0.0), -size, size);
  const V larger = mean + outward;
  const V smaller = mean - (larger - mean);
  const auto same = deviation == outward;
  plus = o::select(same, larger, smaller);
  minus = o::select(same, smaller, larger);
}

}  // namespace stars
