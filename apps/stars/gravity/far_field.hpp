// SPDX-License-Identifier: Apache-2.0
/// \file
/// The kernels of interior nodes: moments up the tree, expansions on each level and down the tree.
#pragma once

#include "gravity/fields.hpp"
#include "gravity/halo.hpp"

namespace stars {

/// The moments of interior nodes <- those of their children. Nodes of one level at a time, the
/// finest first. Range (512, 1, count).
struct sum_moments {
  gravity_view tree;
  gravity_arrays arrays;
  const int* nodes;  ///< interior
  int count;
  bool keeps_centres;  ///< those of earlier masses, about which first moments are not 0

  constexpr extent range() const { return {cells_per_subgrid, 1, count}; }
  template <class Index>
  constexpr void operator()(Index i) const {
    const int node = nodes[i.z], octant = i.x / cells_per_group, k = i.x % cells_per_group;
    const int child = tree.child(node, octant), place = place_of_parent({octant, k});
    const int interior = node - tree.leaves;
    cell_moments<double> children[group_count];
    for (int g = 0; g < group_count; ++g) {
      children[g] = moments_of(tree, arrays, {child, g * cells_per_group + k});
      children[g].centre = children[g].centre + child_centre(g, tree.cell_sizes[node]);
    }
    const vector3<double> centre =
        keeps_centres ? load_vector<double>(arrays.centres, interior, place) : centre_of(children);
    series<double> sum;
    for (const cell_moments<double>& c : children) add_moments(c.moments, c.centre - centre, sum);
    if (!keeps_centres) {
      // About the centre of mass they are 0 up to rounding.
      for (const int t : {int{term::x}, int{term::y}, int{term::z}}) sum.at[t] = 0.0;
      store_vector(arrays.centres, interior, place, centre);
    }
    store_series(arrays.moments, interior, place, sum);
  }

 private:
  static constexpr vector3<double> centre_of(const cell_moments<double> (&children)[group_count]) {
    double mass = 0.0;
    vector3<double> sum;
    for (const cell_moments<double>& c : children) {
      mass += c.moments.at[term::one];
      sum = sum + c.moments.at[term::one] * c.centre;
    }
    return (1.0 / mass) * sum;
  }
};

/// Copies the moments and centres of the cells around a node: those of interior nodes, and the
/// masses of leaves if `with_leaves`. First moments only if there are `dipoles`.
inline void copy_moments(const gravity_view& tree, const gravity_arrays& arrays, int node,
                         const stencil_view& list, bool dipoles, bool with_leaves,
                         cell_halo& halo) {
  halo.reserve(term::count + 3, list.reach);
  const auto copy = [&](int number, double* array, int numbers, int k, double* of_leaves) {
    halo.copy(number, tree, node, [&](int source) -> const double* {
      if (!tree.is_leaf(source))
        return array + (index_type{source - tree.leaves} * numbers + k) * cells_per_subgrid;
      return of_leaves == nullptr ? nullptr : of_leaves + index_type{source} * cells_per_subgrid;
    });
  };
  for (int t = 0; t < term::count; ++t)
    if (dipoles || order_of(t) != 1)
      copy(t, arrays.moments, term::count, t,
           t == term::one && with_leaves ? arrays.masses : nullptr);
  for (int a = 0; a < 3; ++a) copy(term::count + a, arrays.centres, 3, a, nullptr);
}

/// Loads the moments of a vector of partners from a halo.
template <bool Dipoles, class V>
[[gnu::always_inline]] inline cell_moments<V> load_moments(const double* p, std::ptrdiff_t stride,
                                                           int row) {
  cell_moments<V> m;
  unrolled<0, term::count>([&](auto t) __attribute__((always_inline)) {
    if constexpr (Dipoles || order_of(t) != 1)
      m.moments.at[t] = load_partners<V>(p + t * stride, row);
  });
  const double* centre = p + term::count * stride;
  m.centre = {load_partners<V>(centre, row), load_partners<V>(centre + stride, row),
              load_partners<V>(centre + 2 * stride, row)};
  return m;
}

/// The rows of a group that a vector of cells fills.
template <class V>
inline constexpr int rows_of = ops<V>::width > group_edge ? ops<V>::width / group_edge : 1;

/// The list of partners of a cell is divided into this number of runs. Each run is summed by
/// itself, then the sums of the runs are added, so that several threads can work at one cell.
inline constexpr int far_runs = 4;

/// What a cell of an interior node collects.
template <class V>
struct far_sum {
  series<V> potential;
  vector3<V> correction;

  constexpr void add(const far_sum& other) {
    for (int t = 0; t < term::count; ++t) potential.at[t] = potential.at[t] + other.potential.at[t];
    correction = correction + other.correction;
  }
  constexpr void store(const gravity_arrays& a, int interior, int place) const {
    store_series(a.expansions, interior, place, potential);
    store_vector(a.corrections, interior, place, correction);
  }
};

/// The expansions of interior nodes <- the potential of far cells on their level, and the
/// corrections.
///
/// Two forms with the same bits. One index for each cell, range (512, 1, count). Or, with `sweep`,
/// vectors of cells of a group, range (width, 1, count): the call with x = 0 does all the work.
struct far_field {
  gravity_view tree;
  gravity_arrays arrays;
  stencil_view partners, partners_in_root;
  int count;      ///< of interior nodes
  bool dipoles;   ///< first moments are not 0
  bool corrects;  ///< the torque
  int sweep = 0;  ///< or the lanes of the vectors that sweep

  static constexpr int host_grain = 8;  ///< a node, with vectors of 8 lanes

  constexpr extent range() const { return {sweep > 0 ? sweep : cells_per_subgrid, 1, count}; }
  template <class Index>
  constexpr void operator()(Index i) const {
    if (dipoles)
      apply<true>(node_of(i.z), i.x);
    else
      apply<false>(node_of(i.z), i.x);
  }
  template <class V, class Index>
  [[gnu::flatten]] void lanes(Index i) const {
    if (i.x != 0) return;
    if (dipoles)
      sweep_node<true, V>(node_of(i.z));
    else
      sweep_node<false, V>(node_of(i.z));
  }

  /// The root, which has the last number and most partners, is the first one.
  constexpr int node_of(int n) const { return tree.leaves + count - 1 - n; }
  /// Returns the sum over one run of the partners of a cell.
  template <bool Dipoles>
  constexpr far_sum<double> sum_run(int node, int place, int run) const {
    const int group = place / cells_per_group;
    const triple k = position_in_group(place % cells_per_group);
    const double dx = tree.cell_sizes[node];
    const stencil_view& list = partners_of(node);
    receiver<double> r(moments_of(tree, arrays, {node, place}));
    for (int n = begin_of(list, group, run); n < begin_of(list, group, run + 1); ++n) {
      const partner& p = list.partners[n];
      const node_cell source = tree.find(node, k, p);
      if (source.node < 0) continue;
      r.template add<Dipoles>(moments_of(tree, arrays, source), scaled(p.offset, dx), corrects);
    }
    return r.sum;
  }

 private:
  constexpr const stencil_view& partners_of(int node) const {
    return tree.parents[node] < 0 ? partners_in_root : partners;
  }
  static constexpr int begin_of(const stencil_view& list, int group, int run) {
    return list.begin[group] + (list.begin[group + 1] - list.begin[group]) * run / far_runs;
  }

  /// A cell, or a vector of cells, and the sum over a run of its partners.
  template <class V>
  struct receiver {
    cell_moments<V> own;
    V over_mass;
    far_sum<V> sum;

    constexpr explicit receiver(const cell_moments<V>& moments)
        : own(moments), over_mass(V(1.0) / own.moments.at[term::one]) {}

    template <bool Dipoles>
    constexpr void add(const cell_moments<V>& other, const vector3<double>& offset,
                       bool has_correction) {
      const inverse_distance<V> from((own.centre - other.centre) -
                                     vector3<V>{V(offset.x), V(offset.y), V(offset.z)});
      add_potential<Dipoles, highest_order>(other.moments, from.derivatives(), sum.potential);
      if (!has_correction) return;
      const V ratio = other.moments.at[term::one] * over_mass;
      series<V> third;
      unrolled<term::xxx, term::count>([&](auto t) __attribute__((always_inline)) {
        third.at[t] = other.moments.at[t] - ratio * own.moments.at[t];
      });
      add_correction(third, from, sum.correction);
    }
  };

  template <bool Dipoles>
  constexpr void apply(int node, int place) const {
    far_sum<double> all;
    for (int run = 0; run < far_runs; ++run) all.add(sum_run<Dipoles>(node, place, run));
    all.store(arrays, node - tree.leaves, place);
  }
  template <bool Dipoles, class V>
  void sweep_node(int node) const {
    const stencil_view& list = partners_of(node);
    cell_halo& halo = halo_of_thread();
    copy_moments(tree, arrays, node, list, dipoles, true, halo);
    const double dx = tree.cell_sizes[node];
    const int interior = node - tree.leaves, row = halo.row();
    const std::ptrdiff_t stride = halo.stride();
    for (int place = 0; place < cells_per_subgrid; place += ops<V>::width) {
      const int group = place / cells_per_group;
      const triple k = position_in_group(place % cells_per_group);
      const double* cells = halo.at(k);
      const cell_moments<V> own{load_series<V>(arrays.moments, interior, place),
                                load_vector<V>(arrays.centres, interior, place)};
      far_sum<V> all;
      for (int run = 0; run < far_runs; ++run) {
        receiver<V> r(own);
        for (int n = begin_of(list, group, run); n < begin_of(list, group, run + 1); ++n) {
          if (!halo.is_filled(k, list.partners[n].shift, rows_of<V>)) continue;
          r.template add<Dipoles>(load_moments<Dipoles, V>(cells + list.distances[n], stride, row),
                                  scaled(list.partners[n].offset, dx), corrects);
        }
        all.add(r.sum);
      }
      all.store(arrays, interior, place);
    }
  }
};

/// Adds the expansions of the parents to those of interior nodes. Nodes of one level at a time, the
/// coarsest first. Range (512, 1, count).
struct inherit {
  gravity_view tree;
  gravity_arrays arrays;
  const int* nodes;  ///< interior, not the root
  int count;

  constexpr extent range() const { return {cells_per_subgrid, 1, count}; }
  template <class Index>
  constexpr void operator()(Index i) const {
    const int node = nodes[i.z], interior = node - tree.leaves;
    series<double> sum = load_series<double>(arrays.expansions, interior, i.x);
    vector3<double> correction = load_vector<double>(arrays.corrections, interior, i.x);
    add_parent(tree, arrays, node, i.x, load_vector<double>(arrays.centres, interior, i.x), sum,
               correction);
    store_series(arrays.expansions, interior, i.x, sum);
    store_vector(arrays.corrections, interior, i.x, correction);
  }
  /// Adds the expansion and the correction of the parent of a cell. `centre`: the centre of mass of
  /// the cell, from the middle of the cell.
  static constexpr void add_parent(const gravity_view& tree, const gravity_arrays& a, int node,
                                   int place, const vector3<double>& centre, series<double>& sum,
                                   vector3<double>& correction) {
    const int group = place / cells_per_group, parent = tree.parents[node];
    const int above = place_of_parent({tree.octants[node], place % cells_per_group});
    const int interior = parent - tree.leaves;
    const vector3<double> d = (centre + child_centre(group, tree.cell_sizes[parent])) -
                              load_vector<double>(a.centres, interior, above);
    add_expansion(load_series<double>(a.expansions, interior, above), d, sum);
    correction = correction + load_vector<double>(a.corrections, interior, above);
  }
};

/// The results of leaves: adds the expansions of the parents, and makes accelerations of first
/// derivatives. Range (512, 1, count).
struct finish_leaves {
  gravity_view tree;
  gravity_arrays arrays;
  int count;

  constexpr extent range() const { return {cells_per_subgrid, 1, count}; }
  template <class Index>
  constexpr void operator()(Index i) const {
    const cell_numbers<result_count> at(arrays.results, i.z, i.x);
    series<double> sum;
    vector3<double> correction;
    if (tree.parents[i.z] >= 0) inherit::add_parent(tree, arrays, i.z, i.x, {}, sum, correction);
    at[0] = at[0] + sum.at[term::one];
    at[1] = -(at[1] + (sum.at[term::x] + correction.x));
    at[2] = -(at[2] + (sum.at[term::y] + correction.y));
    at[3] = -(at[3] + (sum.at[term::z] + correction.z));
  }
};

}  // namespace stars
