// SPDX-License-Identifier: Apache-2.0
/// \file
/// The kernels of leaves: their masses, pairs of their cells, and pairs with cells of other levels.
#pragma once

#include "gravity/far_field.hpp"

namespace stars {

/// The masses of cells <- a density. Range (512, 1, count).
struct find_masses {
  const double* density;  ///< the first cell of the first leaf
  int stride;             ///< from leaf to leaf; the cells of a leaf are [8][8][8]
  gravity_view tree;
  double* masses;  ///< [count][512], in cell order
  int count;

  constexpr extent range() const { return {cells_per_subgrid, 1, count}; }
  template <class Index>
  constexpr void operator()(Index i) const {
    const double dx = tree.cell_sizes[i.z];
    const triple c{i.x % edge, i.x / edge % edge, i.x / (edge * edge)};
    masses[index_type{i.z} * cells_per_subgrid + place_of_cell(c)] =
        density[index_type{i.z} * stride + i.x] * (dx * dx * dx);
  }
};

/// The results of leaves <- potential and first derivatives of the cells of leaves of their level.
///
/// Two forms with the same bits. One index for each cell, range (512, 1, count). Or, with `sweep`,
/// vectors of cells of a group, range (width, 1, count): the call with x = 0 does all the work.
struct near_field {
  gravity_view tree;
  gravity_arrays arrays;
  stencil_view partners;
  const pair_potential* pairs;  ///< by partner
  int count;
  int sweep = 0;  ///< or the lanes of the vectors that sweep

  static constexpr int host_grain = 8;  ///< a leaf, with vectors of 8 lanes

  constexpr extent range() const { return {sweep > 0 ? sweep : cells_per_subgrid, 1, count}; }
  template <class Index>
  constexpr void operator()(Index i) const {
    const int group = i.x / cells_per_group;
    const triple k = position_in_group(i.x % cells_per_group);
    double sum[result_count] = {};
    for (int n = partners.begin[group]; n < partners.begin[group + 1]; ++n) {
      add(pairs[n], mass_in_leaf(tree.find(i.z, k, partners.partners[n])), sum);
    }
    store(i.z, i.x, sum);
  }
  template <class V, class Index>
  [[gnu::flatten]] void lanes(Index i) const {
    if (i.x != 0) return;
    cell_halo& halo = halo_of_thread();
    halo.reserve(1, partners.reach);
    halo.copy(0, tree, i.z, [this](int node) -> const double* {
      return tree.is_leaf(node) ? arrays.masses + index_type{node} * cells_per_subgrid : nullptr;
    });
    const int row = halo.row();
    for (int place = 0; place < cells_per_subgrid; place += ops<V>::width) {
      const int group = place / cells_per_group;
      const double* masses = halo.at(position_in_group(place % cells_per_group));
      V sum[result_count] = {V(0.0), V(0.0), V(0.0), V(0.0)};
      for (int n = partners.begin[group]; n < partners.begin[group + 1]; ++n)
        add(pairs[n], load_partners<V>(masses + partners.distances[n], row), sum);
      store(i.z, place, sum);
    }
  }

  /// Returns the mass of a cell; 0 if it is not a cell of a leaf.
  constexpr double mass_in_leaf(const node_cell& c) const {
    return c.node >= 0 && tree.is_leaf(c.node) ? arrays.mass(c) : 0.0;
  }
  template <class V>
  static constexpr void add(const pair_potential& pair, const V& mass, V (&sum)[result_count]) {
    sum[0] = sum[0] + mass * V(pair.value);
    for (int a = 0; a < 3; ++a) sum[a + 1] = sum[a + 1] + mass * V(pair.first[a]);
  }
  template <class V>
  constexpr void store(int leaf, int place, const V (&sum)[result_count]) const {
    const double over_dx = 1.0 / tree.cell_sizes[leaf];
    const cell_numbers<result_count> to(arrays.results, leaf, place);
    for (int a = 0; a < result_count; ++a)
      ops<V>::store(&to[a], sum[a] * V(a == 0 ? over_dx : over_dx * over_dx));
  }
};

/// The sum of potential and first derivatives at a cell of a leaf.
template <class V>
struct leaf_sum {
  series<V> potential;
  vector3<V> correction;

  /// Adds a mass; `distance` is from it to the leaf's cell.
  constexpr void add_mass(double mass, const vector3<double>& distance) {
    const inverse_distance<double> from(distance);
    const double factor = mass * from.d[1];
    potential.at[term::one] += mass * from.d[0];
    potential.at[term::x] += factor * from.x.x;
    potential.at[term::y] += factor * from.x.y;
    potential.at[term::z] += factor * from.x.z;
  }
  /// Adds the moments of a far cell. The leaf's own cells have no third moments.
  template <bool Dipoles>
  constexpr void add_far(const cell_moments<V>& other, const vector3<double>& offset,
                         bool corrects) {
    const inverse_distance<V> from(vector3<V>{V(-offset.x), V(-offset.y), V(-offset.z)} -
                                   other.centre);
    add_potential<Dipoles, 1>(other.moments, from.derivatives(), potential);
    if (corrects) add_correction(other.moments, from, correction);
  }
  constexpr void add_to(const gravity_arrays& a, int leaf, int place) const {
    const cell_numbers<result_count> to(a.results, leaf, place);
    to[0] += potential.at[term::one];
    to[1] += potential.at[term::x] + correction.x;
    to[2] += potential.at[term::y] + correction.y;
    to[3] += potential.at[term::z] + correction.z;
  }
};

/// Adds to the results of leaves the interior nodes of their level: moments of far cells, and the
/// masses of the eight children of near ones, which are leaves. Forms as in far_field.
struct beside_finer {
  gravity_view tree;
  gravity_arrays arrays;
  stencil_view far, near;
  const int* leaves;
  int count;
  bool dipoles, corrects;  ///< as in far_field
  int sweep = 0;

  static constexpr int host_grain = 8;  ///< a leaf, with vectors of 8 lanes

  constexpr extent range() const { return {sweep > 0 ? sweep : cells_per_subgrid, 1, count}; }
  template <class Index>
  constexpr void operator()(Index i) const {
    if (dipoles)
      apply<true>(leaves[i.z], i.x);
    else
      apply<false>(leaves[i.z], i.x);
  }
  template <class V, class Index>
  [[gnu::flatten]] void lanes(Index i) const {
    if (i.x != 0) return;
    if (dipoles)
      sweep_leaf<true, V>(leaves[i.z]);
    else
      sweep_leaf<false, V>(leaves[i.z]);
  }

 private:
  template <bool Dipoles>
  constexpr void apply(int leaf, int place) const {
    const int group = place / cells_per_group;
    const triple k = position_in_group(place % cells_per_group);
    const double dx = tree.cell_sizes[leaf];
    leaf_sum<double> sum;
    for (int n = far.begin[group]; n < far.begin[group + 1]; ++n) {
      const node_cell source = tree.find(leaf, k, far.partners[n]);
      if (source.node < tree.leaves) continue;
      sum.template add_far<Dipoles>(moments_of(tree, arrays, source),
                                    scaled(far.partners[n].offset, dx), corrects);
    }
    add_near(leaf, place, sum);
  }
  template <bool Dipoles, class V>
  void sweep_leaf(int leaf) const {
    cell_halo& halo = halo_of_thread();
    copy_moments(tree, arrays, leaf, far, dipoles, false, halo);
    const double dx = tree.cell_sizes[leaf];
    const int row = halo.row();
    const std::ptrdiff_t stride = halo.stride();
    for (int place = 0; place < cells_per_subgrid; place += ops<V>::width) {
      const int group = place / cells_per_group;
      const triple k = position_in_group(place % cells_per_group);
      const double* cells = halo.at(k);
      leaf_sum<V> sum;
      for (int n = far.begin[group]; n < far.begin[group + 1]; ++n) {
        if (!halo.is_filled(k, far.partners[n].shift, rows_of<V>)) continue;
        sum.template add_far<Dipoles>(
            load_moments<Dipoles, V>(cells + far.distances[n], stride, row),
            scaled(far.partners[n].offset, dx), corrects);
      }
      for (int lane = 0; lane < ops<V>::width; ++lane)
        add_near(leaf, place + lane, lane_of(sum, std::size_t(lane)));
    }
  }
  template <class V>
  static leaf_sum<double> lane_of(const leaf_sum<V>& sum, std::size_t lane) {
    leaf_sum<double> one;
    for (const int t : {int{term::one}, int{term::x}, int{term::y}, int{term::z}})
      one.potential.at[t] = sum.potential.at[t][lane];
    one.correction = {sum.correction.x[lane], sum.correction.y[lane], sum.correction.z[lane]};
    return one;
  }
  /// Adds near partners to the sum, and this to the results.
  constexpr void add_near(int leaf, int place, leaf_sum<double> sum) const {
    const int group = place / cells_per_group;
    const triple k = position_in_group(place % cells_per_group);
    for (int n = near.begin[group]; n < near.begin[group + 1]; ++n) {
      const node_cell source = tree.find(leaf, k, near.partners[n]);
      if (source.node >= tree.leaves) add_children(leaf, near.partners[n], source, sum);
    }
    sum.add_to(arrays, leaf, place);
  }
  constexpr void add_children(int leaf, const partner& p, node_cell source,
                              leaf_sum<double>& sum) const {
    const double dx = tree.cell_sizes[leaf];
    const children_place children = children_of(source.place);
    const int child = tree.child(source.node, children.octant);
    for (int g = 0; g < group_count; ++g)
      sum.add_mass(arrays.mass({child, g * cells_per_group + children.in_group}),
                   vector3<double>{} - scaled(p.offset, dx) - child_centre(g, dx));
  }
};

/// Adds to the results of leaves the masses of leaves of the level above that are near the parents
/// of their cells. Range (512, 1, count).
struct beside_coarser {
  gravity_view tree;
  gravity_arrays arrays;
  stencil_view near;
  const int* leaves;
  int count;

  constexpr extent range() const { return {cells_per_subgrid, 1, count}; }
  template <class Index>
  constexpr void operator()(Index i) const {
    const int leaf = leaves[i.z], parent = tree.parents[leaf];
    const int above = place_of_parent({tree.octants[leaf], i.x % cells_per_group});
    const int group = above / cells_per_group;
    const triple k = position_in_group(above % cells_per_group);
    const double dx = tree.cell_sizes[parent];
    const vector3<double> centre = child_centre(i.x / cells_per_group, dx);
    leaf_sum<double> sum;
    for (int n = near.begin[group]; n < near.begin[group + 1]; ++n) {
      const partner& p = near.partners[n];
      const node_cell source = tree.find(parent, k, p);
      if (source.node < 0 || !tree.is_leaf(source.node)) continue;
      sum.add_mass(arrays.mass(source), centre - scaled(p.offset, dx));
    }
    sum.add_to(arrays, leaf, i.x);
  }
};

}  // namespace stars
