// SPDX-License-Identifier: Apache-2.0
/// \file
/// Kernels 4 and 5 of a stage in one kernel, for processors with large private caches.
#pragma once

#include <utility>

#include "hydro/flux.hpp"
#include "hydro/reconstruction.hpp"

namespace stars {

/// A group of directions whose states meet at points of the same kind: the directions of an axis,
/// the diagonals of a plane, or the space diagonals. Groups do not depend on each other.
struct direction_group {
  int axes;  ///< bits 0 … 2: whether its directions have an x, y, z component

  static constexpr int count = 7;
  static constexpr int most = 8;  ///< directions in a group
  /// Returns group g, in the order of the points of a face.
  static constexpr direction_group of(int g) {
    constexpr int axes_of[count] = {1, 2, 4, 3, 5, 6, 7};
    return {axes_of[g]};
  }
  constexpr bool has(int axis) const { return (axes >> axis & 1) != 0; }
  constexpr bool holds(triple d) const {
    return axes == (d.x != 0) + 2 * (d.y != 0) + 4 * (d.z != 0);
  }
  /// Returns the position of a direction in its group.
  static constexpr int slot(triple d) { return (d.x > 0) + 2 * (d.y > 0) + 4 * (d.z > 0); }
  /// Return the points of a face along `axis` that belong to the group: [first, end).
  constexpr int first_point(int axis) const {
    const bool u = has(axis == 0 ? 1 : 0), v = has(axis == 2 ? 1 : 2);
    return u && v ? 5 : v ? 3 : u ? 1 : 0;
  }
  /// Returns whether these points are edge midpoints or vertices, not centres.
  constexpr bool needs_edges() const { return (axes & (axes - 1)) != 0; }
  constexpr int end_point(int axis) const {
    const int first = first_point(axis);
    return first == 0 ? 1 : first == 5 ? face_point::count : first + 2;
  }
};

/// Does reconstruction and flux group by group, with the same bits where they are finite: the
/// states of a group are used while they are in a cache. One vector for each sub-grid, range
/// (width, 1, count); the call with x = 0 does all the work.
struct grouped_flux {
  static constexpr int point_block = direction_group::most * direction_stride;

  reconstruction states;  ///< its points: [count][8][17][736]
  flux fluxes;

  constexpr extent range() const { return {states.sweep > 0 ? states.sweep : 1, 1, states.count}; }
  template <class Index>
  constexpr void operator()(Index i) const {
    lanes<double>(i);
  }
  template <class V, class Index>
  constexpr void lanes(Index i) const {
    if (i.x == 0) states.parabolic ? run<V, true>(i.z) : run<V, false>(i.z);
  }

 private:
  constexpr double* slot(triple d, int n) const {
    return states.points + index_type{n} * point_block +
           index_type{direction_group::slot(d)} * direction_stride;
  }

  template <class V, bool Parabolic>
  constexpr void run(int n) const {
    auto traits = states.traits_of<V>(n);
    find_absent<V>(traits, n);
    const auto run_all = [&]<int... G>(std::integer_sequence<int, G...>) {
      (run_group<V, Parabolic, G>(traits, n), ...);
    };
    run_all(std::make_integer_sequence<int, direction_group::count>());
  }

  /// Marks variables that are zero in all cells as absent: they are zero at all points. Species are
  /// not absent if some cell has no species: there all are 0/0.
  template <class V>
  constexpr void find_absent(reconstruction::field_traits& t, int n) const {
    for (int f = 0; f < field_count; ++f) {
      const bool carried = f == field::pot || f >= field::species;
      t.absent[f] = carried && t.uniform[f] && states.w[ghosted_at(n, f, -3, -3, -3)] == 0.0;
    }
    if (every_cell_has_species<V>(t, n)) return;
    for (int f = field::species; f < field_count; ++f) t.absent[f] = false;
  }
  template <class V>
  [[gnu::flatten]] constexpr bool every_cell_has_species(const reconstruction::field_traits& t,
                                                         int n) const {
    using o = ops<V>;
    const double* w = states.w + ghosted_at(n, field::species, -3, -3, -3);
    for (int k = 0; k < ghosted_cells; k += o::width) {
      V most = V(0.0);
      for (int s = 0; s < species_count; ++s)
        if (!t.absent[field::species + s]) most = o::max(most, o::load(w + s * ghosted.field + k));
      if (o::any(!(most > V(0.0)))) return false;
    }
    return true;
  }

  template <class V, bool Parabolic, int G>
  constexpr void run_group(const reconstruction::field_traits& traits, int n) const {
    constexpr direction_group group = direction_group::of(G);
    if (group.needs_edges() && fluxes.quadrature == 1) return;
    for (int pair = 0; pair < pair_count; ++pair) {
      const triple d = direction_vector(pair);
      if (!group.holds(d)) continue;
      states.sweep_pair<V, Parabolic>(traits, pair, n, slot(d, n), slot({-d.x, -d.y, -d.z}, n));
    }
    add_group<V, G>(traits, n);
  }

  template <class V, int G>
  [[gnu::flatten, gnu::noinline]] constexpr void add_group(const reconstruction::field_traits& t,
                                                           int n) const {
    const auto in = [this, n](triple d) { return slot(d, n); };
    const auto absent = [&t](int k) { return t.absent[k]; };
    for (int z = 0; z <= edge; ++z) {
      add_axis<V, G, 0>(z, n, in, absent);
      add_axis<V, G, 1>(z, n, in, absent);
      add_axis<V, G, 2>(z, n, in, absent);
    }
  }
  template <class V, int G, int Axis, class States, class Absent>
  constexpr void add_axis(int z, int n, States in, Absent absent) const {
    constexpr direction_group group = direction_group::of(G);
    if constexpr (group.has(Axis))
      fluxes.add_plane<V, Axis, group.first_point(Axis), group.end_point(Axis)>(z, n, in, absent);
  }
};

}  // namespace stars
