// SPDX-License-Identifier: Apache-2.0
/// \file
/// The only global reduction of a step, and the re-synchronization at its end.
#pragma once

#include "hydro/gas.hpp"
#include "hydro/update.hpp"
#include "mesh/layout.hpp"

namespace stars {

/// The maximum of non-negative values, or NaN if one of them is NaN. Without branches.
template <class V>
class running_max {
 public:
  constexpr void add(V v) {
    m_most = ops<V>::max(v, m_most);
    m_nan = ops<V>::select(v == v, m_nan, v);
  }
  constexpr V value() const { return ops<V>::select(m_nan == m_nan, m_most, m_nan); }

 private:
  V m_most = V(0.0);
  V m_nan = V(0.0);  // NaN after a NaN was added
};

/// out[k] = max over in[k], in[k + width], …: one round of a maximum over `size` non-negative
/// values; NaN if one of them is NaN. Range (width, 1, 1).
struct reduce_max {
  const double* in;
  double* out;
  index_type size;
  int width;

  constexpr extent range() const { return {width, 1, 1}; }
  template <class Index>
  constexpr void operator()(Index i) const {
    apply<double>(i.x);
  }
  template <class V, class Index>
  [[gnu::flatten]] constexpr void lanes(Index i) const {
    if (size % width == 0) return apply<V>(i.x);
    for (int k = 0; k < ops<V>::width; ++k) apply<double>(i.x + k);  // the last round is incomplete
  }
  template <class V>
  constexpr void apply(int first) const {
    running_max<V> most;
    for (index_type k = first; k < size; k += width) most.add(ops<V>::load(in + k));
    ops<V>::store(out + first, most.value());
  }
};

/// Signals in units of the finest cells: a_max / dx of the sub-grid is as large as that of a signal
/// of the new speed in the finest cells. The factors are powers of two. Range (speed_block, 1,
/// count).
struct scale_speeds {
  double* speeds;               ///< [count][speed_block]
  const subgrid_frame* frames;  ///< [count]
  double finest_dx;
  int count;

  constexpr extent range() const { return {speed_block, 1, count}; }
  template <class Index>
  constexpr void operator()(Index i) const {
    speeds[index_type{i.z} * speed_block + i.x] *= finest_dx / frames[i.z].dx();
  }
};

/// out[0] = max over in, as above, by one group of threads. Groups: (1, 1, 1).
struct group_max {
  const double* in;
  double* out;
  index_type size;

  static constexpr int group_size = 1024;
  static constexpr int scratch_bytes = group_size * int(sizeof(double));

  constexpr extent range() const { return {1, 1, 1}; }
  template <class Group, class Index>
  constexpr void operator()(Group& g, Index) const {
    auto* of_thread = g.template scratch<double>();
    const int rank = g.rank();
    running_max<double> own;
    for (index_type k = rank; k < size; k += g.size()) own.add(in[k]);
    of_thread[rank] = own.value();
    for (int left = g.size(); left > 1;) {
      g.sync();
      const int half = (left + 1) / 2;
      if (rank + half < left) {
        running_max<double> both;
        both.add(of_thread[rank]);
        both.add(of_thread[rank + half]);
        of_thread[rank] = both.value();
      }
      left = half;
    }
    if (rank == 0) out[0] = of_thread[0];
  }
};

/// dt = cfl dx / a_max, limited to the stop time; NaN if a_max is NaN. Range (1, 1, 1).
struct time_step {
  const double* maxima;
  double* clock;
  int size;
  double cfl;
  double dx;

  constexpr extent range() const { return {1, 1, 1}; }
  template <class Index>
  constexpr void operator()(Index) const {
    running_max<double> most;
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
  double* u;           ///< [count][15][512]
  const double* egas;  ///< [count][14^3]: total energy with ghosts
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
    const double* e = egas + index_type{n} * ghosted.field + ghosted_at(0, 0, x, y, z);
    V most = o::load(e);
    for (int k = 0; k < 27; ++k) {
      const int step = k % 3 - 1 + ghosted.row * (k / 3 % 3 - 1) + ghosted.plane * (k / 9 - 1);
      most = o::max(most, o::load(e + step));
    }
    double* c = u + index_type{n} * compact.block + cell;
    const auto get = [&](int f) { return o::load(c + f * compact.field); };
    const V internal = get(field::egas) - kinetic_energy(get(field::rho), get(field::sx),
                                                         get(field::sy), get(field::sz));
    const auto hot = internal > V(hot_share) * most;
    if (!o::any(hot)) return;
    o::store(c + field::tau * compact.field,
             o::select(hot, power(internal, 1.0 / gamma), get(field::tau)));
  }
};

}  // namespace stars
