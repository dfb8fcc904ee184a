// SPDX-License-Identifier: Apache-2.0
/// \file
/// The one global reduction of a step, and the re-synchronization at its end.
#pragma once

#include "gas.hpp"
#include "layout.hpp"
#include "update.hpp"

namespace sedov {

/// The largest of values that are not negative; a NaN among them is the result. Without branches.
class running_max {
 public:
  constexpr void add(double v) {
    m_most = v > m_most ? v : m_most;
    m_nan = v == v ? m_nan : v;
  }
  constexpr double value() const { return m_nan == m_nan ? m_most : m_nan; }

 private:
  double m_most = 0.0;
  double m_nan = 0.0;  // not a number once one was seen
};

/// out[k] = max over in[k], in[k + width], …: one round of a maximum over `size` values that are
/// not negative; NaN where one of them is. Range (width, 1, 1).
struct reduce_max {
  const double* in;
  double* out;
  index_type size;
  int width;

  constexpr extent range() const { return {width, 1, 1}; }
  template <class Index>
  constexpr void operator()(Index i) const {
    running_max most;
    for (index_type k = i.x; k < size; k += width) most.add(in[k]);
    out[i.x] = most.value();
  }
};

/// dt = cfl dx / a_max, not beyond the stop time; NaN if a_max is. Range (1, 1, 1).
struct time_step {
  const double* maxima;
  double* clock;
  int size;
  double cfl;
  double dx;

  constexpr extent range() const { return {1, 1, 1}; }
  template <class Index>
  constexpr void operator()(Index) const {
    running_max most;
    for (int k = 0; k < size; ++k) most.add(maxima[k]);
    const double dt = cfl * (dx / most.value());
    const double left = clock[clock_entry::stop] - clock[clock_entry::time];
    clock[clock_entry::fastest] = most.value();
    clock[clock_entry::dt] = dt >= left ? left : dt;
  }
};

/// Re-sets the entropy tracer, tau = e^(1/gamma), where the internal energy e is more than a tenth
/// of the largest total energy of the cell and its 26 neighbours. Range (512, 1, count).
struct synchronize_tau {
  double* u;           ///< interior, layout below
  const double* egas;  ///< total energy with at least one ghost cell around, [count][stride]
  layout u_layout;
  index_type egas_stride;  ///< from one sub-grid's 14^3 array to the next one's
  int count;
  double gamma;

  constexpr extent range() const { return {cells_per_subgrid, 1, count}; }
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
    const int x = cell % edge, y = cell / edge % edge, z = cell / (edge * edge);
    const double* e = egas + n * egas_stride + ghosted_at(0, 0, x, y, z);
    V most = o::load(e);
    for (int k = 0; k < 27; ++k) {
      const int step = k % 3 - 1 + ghosted.row * (k / 3 % 3 - 1) + ghosted.plane * (k / 9 - 1);
      most = o::max(most, o::load(e + step));
    }
    double* c = u + u_layout.at(n, 0, x, y, z);
    const auto get = [&](int f) { return o::load(c + f * u_layout.field); };
    const V internal = get(field::egas) - kinetic_energy(get(field::rho), get(field::sx),
                                                         get(field::sy), get(field::sz));
    const auto hot = internal > V(hot_share) * most;
    if (!o::any(hot)) return;
    const double exponent = 1.0 / gamma;
    o::store(c + field::tau * u_layout.field,
             o::map_where(hot, internal, get(field::tau),
                          [exponent](double v) { return power(v, exponent); }));
  }
};

}  // namespace sedov
