// SPDX-License-Identifier: Apache-2.0
/// \file
/// All fields of the children of coarse cells, one cell or a vector of them at a time.
#pragma once

#include "transfer/children.hpp"

namespace stars {

/// Groups of fields that are prolonged together.
enum class child_group : int { momenta, masses, others, count, energy };  // energy: egas alone

/// Computes the children of coarse cells, which `Cells` reads and writes:
/// - `stencil(f, u)`: u <- field f of the cells and their neighbours, [27];
/// - `coarse(f)`: returns field f of the cells; `centre(axis)`: the coordinates of their centres;
/// - `put(child, f, value)`: stores field f of their child x + 2y + 4z.
template <class V, class Cells>
struct child_fields {
  Cells& cells;
  double theta;
  double half_dx;  ///< of the coarse cells

  constexpr void compute(child_group group) const {
    if (group == child_group::momenta) return momenta();
    if (group == child_group::masses) return masses();
    if (group == child_group::energy) return single(field::egas);
    for (const int f : {int{field::egas}, int{field::tau}, int{field::pot}}) single(f);
  }

 private:
  /// Returns field f of the coarse cells; d <- the deviations of its children.
  constexpr V prepare(int f, V (&d)[child_pairs]) const {
    V u[stencil_count] = {};
    cells.stencil(f, u);
    deviations<V>(u, theta, d);
    return u[stencil_centre];
  }
  constexpr void put_pair(int pair, int f, const V& mean, const V& deviation) const {
    V plus = mean, minus = mean;
    split<V>(mean, deviation, plus, minus);
    cells.put(octant_count - 1 - pair, f, plus);
    cells.put(pair, f, minus);
  }
  constexpr void single(int f) const {
    V d[child_pairs] = {};
    const V u = prepare(f, d);
    for (int p = 0; p < child_pairs; ++p) {
      put_pair(p, f, u, f == field::pot ? d[p] : within<V>(u, d[p]));
    }
  }
  /// The deviations of rho are the sums of those of the species.
  constexpr void masses() const {
    V sum[child_pairs] = {};
    for (int f = field::species; f < field_count; ++f) {
      V d[child_pairs] = {};
      const V u = prepare(f, d);
      for (int p = 0; p < child_pairs; ++p) {
        d[p] = within<V>(u, d[p]);
        sum[p] = sum[p] + d[p];
        put_pair(p, f, u, d[p]);
      }
    }
    const V rho = cells.coarse(field::rho);
    for (int p = 0; p < child_pairs; ++p) put_pair(p, field::rho, rho, within<V>(rho, sum[p]));
  }
  /// Two opposite children have the positions r ± a and the momenta s ± d. The difference of their
  /// (r ± a) x (s ± d) from r x s has an odd part, ±(r x d + a x s), and an even one, a x d. The
  /// mean of the even parts is taken out of the spin, so that the mean is l.
  constexpr void momenta() const {
    V s[3] = {}, d[3][child_pairs] = {}, r[3] = {};
    for (int i = 0; i < 3; ++i) {
      s[i] = prepare(field::sx + i, d[i]);
      r[i] = cells.centre(i);
      for (int p = 0; p < child_pairs; ++p) put_pair(p, field::sx + i, s[i], d[i][p]);
    }
    for (int i = 0; i < 3; ++i) {
      const int j = (i + 1) % 3, k = (i + 2) % 3;
      V odd[child_pairs] = {}, even[child_pairs] = {};
      for (int p = 0; p < child_pairs; ++p) {
        const V aj = V(offset(p, j)), ak = V(offset(p, k));
        odd[p] = (r[j] * d[k][p] - r[k] * d[j][p]) + (aj * s[k] - ak * s[j]);
        even[p] = aj * d[k][p] - ak * d[j][p];
      }
      const V mean = V(0.25) * ((even[0] + even[1]) + (even[2] + even[3]));
      const V l = cells.coarse(field::lx + i);
      for (int p = 0; p < child_pairs; ++p)
        put_pair(p, field::lx + i, l + (even[p] - mean), odd[p]);
    }
  }
  /// Returns a component of the distance from the coarse centre to that of child 7 - p.
  constexpr double offset(int p, int axis) const {
    return (p >> axis & 1) == 0 ? 0.5 * half_dx : -0.5 * half_dx;
  }
};

}  // namespace stars
