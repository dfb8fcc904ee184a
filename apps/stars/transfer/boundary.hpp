// SPDX-License-Identifier: Apache-2.0
/// \file
/// The fields of cells beyond the domain.
#pragma once

#include "kernel/lanes.hpp"
#include "mesh/subgrid.hpp"

namespace stars {

/// Converts the fields of source cells to those of ghost cells beyond the domain, in place. `from`
/// and `to` are the positions of their centres.
struct boundary_transform {
  triple direction;
  axis_rule rule[3];
  double weight = 0.0;  ///< gravity / (gamma - 1)

  template <class V>
  constexpr void operator()(V (&u)[field_count], const V (&from)[3], const V (&to)[3]) const {
    using o = ops<V>;
    const V zero = V(0.0);
    V s[3] = {u[field::sx], u[field::sy], u[field::sz]};
    V spin[3];
    for (int a = 0; a < 3; ++a) {
      const int b = (a + 1) % 3, c = (a + 2) % 3;
      spin[a] = u[field::lx + a] - (from[b] * s[c] - from[c] * s[b]);
    }
    V removed = zero;
    for (int a = 0; a < 3; ++a) {
      if (rule[a] == axis_rule::zero_gradient) {
        const auto inward = V(double(direction[a])) * s[a] < zero;
        removed = removed + o::select(inward, s[a] * s[a], zero);
        s[a] = o::select(inward, zero, s[a]);
      } else if (rule[a] == axis_rule::mirror) {  // the spin is an axial vector
        s[a] = -s[a];
        spin[(a + 1) % 3] = -spin[(a + 1) % 3];
        spin[(a + 2) % 3] = -spin[(a + 2) % 3];
      }
    }
    u[field::egas] = u[field::egas] - V(0.5) * removed / u[field::rho];
    if (weight != 0.0 && rule[2] == axis_rule::mirror)
      u[field::egas] = u[field::egas] + hydrostatic_change(u, from[2] - to[2]);
    for (int a = 0; a < 3; ++a) {
      const int b = (a + 1) % 3, c = (a + 2) % 3;
      u[field::sx + a] = s[a];
      u[field::lx + a] = spin[a] + (to[b] * s[c] - to[c] * s[b]);
    }
  }

 private:
  /// Returns the change of the internal energy density at a place lower by `depth`, to second order
  /// in the weight of the gas between both. The internal energy stays positive. The tracer is left
  /// as it is, since no gas crosses a wall.
  template <class V>
  constexpr V hydrostatic_change(const V (&u)[field_count], V depth) const {
    const V rho = u[field::rho], sx = u[field::sx], sy = u[field::sy], sz = u[field::sz];
    const V internal = u[field::egas] - V(0.5) * ((sx * sx + sy * sy) + sz * sz) / rho;
    const V change = V(weight) * rho * depth;
    return ops<V>::select(change < V(0.0), internal * change / (internal - change), change);
  }
};

}  // namespace stars
