// SPDX-License-Identifier: Apache-2.0
/// \file
/// Kernels 1 and 2 of a stage: find pressure jumps, at which contact steepening must not act.
#pragma once

#include "hydro/gas.hpp"
#include "mesh/layout.hpp"

namespace stars {

/// Kernel 1: computes the pressure of the conserved state. Range (2352, 1, count): planes z = -2 …
/// 9.
struct discontinuity_1 {
  const double* u;   ///< [count][15][14^3] conserved
  double* pressure;  ///< [count][14^3]
  int count;
  double gamma;

  constexpr extent range() const { return {(edge + 4) * ghosted.plane, 1, count}; }
  template <class Index>
  constexpr void operator()(Index i) const {
    apply<double>(i.x, i.z);
  }
  template <class V, class Index>
  [[gnu::flatten]] constexpr void lanes(Index i) const {
    apply<V>(i.x, i.z);
  }

  template <class V>
  constexpr void apply(int flat, int n) const {
    using o = ops<V>;
    const int cell = flat + ghosted.plane;
    const double* c = u + index_type{n} * ghosted.block + cell;
    o::store(pressure + index_type{n} * pressure_block + cell,
             pressure_of<V>([&](int f) { return o::load(c + f * ghosted.field); }, gamma));
  }
  /// Returns the pressure from the conserved fields, which `get(f)` returns.
  template <class V, class Get>
  static constexpr V pressure_of(Get get, double gamma) {
    const V total = get(field::egas);
    const V internal =
        total - kinetic_energy(get(field::rho), get(field::sx), get(field::sy), get(field::sz));
    return V(gamma - 1.0) * thermal_energy(internal, total, get(field::tau), gamma);
  }
};

/// Kernel 2: D_d = |P+ - P-| / min(|P+|, |P-|) / (0.1 gamma) for each pair of opposite directions.
/// Range (100 rows of `pitch`, 13, count).
struct discontinuity_2 {
  const double* pressure;  ///< [count][14^3]
  double* jump;            ///< [count][13][10^3]
  int count;
  int pitch;  ///< padded row length: ring_edge, rounded up to a multiple of the lanes
  double gamma;
  bool faces_only;  ///< skip diagonals, for the one-point quadrature

  /// The indices of one sub-grid: a second core would have to fetch its input from this core's
  /// cache.
  static constexpr int host_grain = pair_count * ring_rows * padded(ring_edge, 8);

  constexpr extent range() const { return {pitch * ring_rows, pair_count, count}; }
  template <class Index>
  constexpr void operator()(Index i) const {
    apply<double>(i.x, i.y, i.z);
  }
  template <class V, class Index>
  [[gnu::flatten]] constexpr void lanes(Index i) const {
    apply<V>(i.x, i.y, i.z);
  }

  template <class V>
  constexpr void apply(int flat, int pair, int n) const {
    using o = ops<V>;
    const triple d = direction_vector(pair);
    const ring_window w = ring_window::of(flat, pitch, d, o::width);
    if (!w.needed || (faces_only && d.x * d.x + d.y * d.y + d.z * d.z > 1)) return;
    const int step = d.x + ghosted.row * d.y + ghosted.plane * d.z;
    const double* p = pressure + index_type{n} * pressure_block + ghosted_at(0, 0, w.x, w.y, w.z);
    const int at = (w.x + 1) + ring_edge * (w.y + 1) + ring_rows * (w.z + 1);
    o::store(jump + index_type{n} * jump_block + pair * ring_cells + at, value<V>(p, step));
  }
  /// Returns D_d of a cell, or of a vector of cells, from the pressures at p; neighbours are `step`
  /// away.
  template <class V, class Cells>
  constexpr V value(Cells p, int step) const {
    using o = ops<V>;
    const V a = o::load(p + step), b = o::load(p - step);
    const V least = o::min(o::abs(a), o::abs(b));
    return (o::abs(a - b) / least) * V(1.0 / (0.1 * gamma));
  }
};

}  // namespace stars
