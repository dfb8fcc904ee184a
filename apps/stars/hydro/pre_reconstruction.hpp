// SPDX-License-Identifier: Apache-2.0
/// \file
/// Kernel 3 of a stage: the variables that are reconstructed.
#pragma once

#include "hydro/gas.hpp"
#include "mesh/layout.hpp"

namespace stars {

/// Kernel 3: computes rho, internal energy, tau, pot/rho, velocity relative to the grid, spin per
/// mass, mass fractions. In place if `w == u`. Range (2744, 1, count).
struct pre_reconstruction {
  const double* u;              ///< [count][15][14^3] conserved
  double* w;                    ///< [count][15][14^3]
  const subgrid_frame* frames;  ///< [count]
  int count;
  double omega;

  constexpr extent range() const { return {ghosted_cells, 1, count}; }
  template <class Index>
  constexpr void operator()(Index i) const {
    apply<double>(i.x, i.z);
  }
  template <class V, class Index>
  [[gnu::flatten]] constexpr void lanes(Index i) const {
    apply<V>(i.x, i.z);
  }

  template <class V>
  constexpr void apply(int cell, int n) const {
    using o = ops<V>;
    const index_type at = index_type{n} * ghosted.block + cell;
    const auto get = [&](int f) { return o::load(u + at + f * ghosted.field); };
    const auto put = [&](int f, V v) { o::store(w + at + f * ghosted.field, v); };
    convert<V>(get, put, cell, n);
  }
  /// Converts one cell, or a vector of cells: `get(f)` returns a conserved field, `put(f, v)`
  /// stores a variable.
  template <class V, class Get, class Put>
  constexpr void convert(Get get, Put put, int cell, int n) const {
    const position<V> r = position_of<V>(cell, frames[n]);
    const V rho = get(field::rho);
    const V inverse = V(1.0) / rho;
    const V vx = get(field::sx) * inverse, vy = get(field::sy) * inverse,
            vz = get(field::sz) * inverse;
    const V kinetic = V(0.5) * rho * ((vx * vx + vy * vy) + vz * vz);
    put(field::rho, rho);
    put(field::egas, get(field::egas) - kinetic);
    put(field::tau, get(field::tau));
    put(field::pot, get(field::pot) * inverse);
    put(field::lx, get(field::lx) * inverse - (r.y * vz - r.z * vy));
    put(field::ly, get(field::ly) * inverse - (r.z * vx - r.x * vz));
    put(field::lz, get(field::lz) * inverse - (r.x * vy - r.y * vx));
    put(field::sx, vx + V(omega) * r.y);
    put(field::sy, vy - V(omega) * r.x);
    put(field::sz, vz);
    for (int s = 0; s < species_count; ++s) {
      put(field::species + s, get(field::species + s) * inverse);
    }
  }

 private:
  template <class V>
  struct position {
    V x, y, z;
  };
  /// Lanes continue across rows and planes, so the position is computed from the cell's number.
  template <class V>
  constexpr position<V> position_of(int cell, const subgrid_frame& in) const {
    const V flat = V(static_cast<double>(cell)) + ops<V>::iota();
    constexpr double row = ghosted_edge, plane = row * row;
    const V z = nearest((flat - V((plane - 1.0) / 2.0)) * V(1.0 / plane));
    const V in_plane = flat - z * V(plane);
    const V y = nearest((in_plane - V((row - 1.0) / 2.0)) * V(1.0 / row));
    const V x = in_plane - y * V(row);
    const auto centre = [&in](V local, int axis) {
      const double shift = in.lower[axis] + (1.0 - 2.0 * ghost_width);
      return (V(2.0) * local + V(shift)) * V(in.half_dx);
    };
    return {centre(x, 0), centre(y, 1), centre(z, 2)};
  }
};

}  // namespace stars
