// SPDX-License-Identifier: Apache-2.0
/// \file
/// Kernels 2, 4 and 5 of a stage in one kernel, for processors with large private caches.
#pragma once

#include <bit>
#include <cstdint>
#include <memory>
#include <utility>

#include "hydro/discontinuity.hpp"
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

/// Does the work of discontinuity_2, reconstruction and flux group by group, with the same bits
/// where they are finite: jumps and states are used while they are in a cache. One vector for each
/// sub-grid, range (width, 1, count); the call with x = 0 does all the work.
struct grouped_flux {
  discontinuity_2 jump;   ///< its `jump` is not used
  reconstruction states;  ///< its `jump` and `points` are not used
  flux fluxes;

  constexpr extent range() const { return {states.sweep > 0 ? states.sweep : 1, 1, states.count}; }
  template <class Index>
  void operator()(Index i) const {
    lanes<double>(i);
  }
  template <class V, class Index>
  void lanes(Index i) const {
    if (i.x == 0) compute<V>(i.z, points_of_thread());
  }
  /// Computes sub-grid `n`. `points`: [8][17][736], with any contents.
  template <class V>
  constexpr void compute(int n, double* points) const {
    grouped_flux own = *this;
    own.states.points = points;
    with_constant(states.kind, [&]<reconstruction_kind How> { own.run<V, How>(n); });
  }

 private:
  /// Returns memory for the states of a group, 0.8 MB (5.3 MB for sub-grids of 16³). Each thread
  /// has its own from its first sub-grid until it ends, and keeps it in the cache of its core. A
  /// thread without memory ends the step with std::bad_alloc.
  static double* points_of_thread() {
    struct alignas(64) group_points {
      double of[direction_group::most * direction_stride] = {};
    };
    static thread_local const auto mine = std::make_unique<group_points>();
    return mine->of;
  }
  constexpr double* slot(triple d) const {
    return states.points + index_type{direction_group::slot(d)} * direction_stride;
  }

  template <class V, reconstruction_kind How>
  constexpr void run(int n) const {
    auto traits = states.traits_of<V>(n);
    find_absent<V>(traits, n);
    const bool still = is_still(traits, n);
    const auto run_all = [&]<int... G>(std::integer_sequence<int, G...>) {
      (run_group<V, How, G>(traits, still, n), ...);
    };
    run_all(std::make_integer_sequence<int, direction_group::count>());
    if (still) fluxes.spread<V>(n);
  }

  /// Returns whether a sub-grid has the same gas everywhere, at rest, without spin: then the states
  /// of a direction, which `finish_box` computes from the first ghost cell, are the same in all
  /// cells, also the signs of their zeros. Most of a blast's domain is like this.
  constexpr bool is_still(const reconstruction::field_traits& t, int n) const {
    if (!t.all_uniform() || states.omega != 0.0) return false;
    for (int f = field::sx; f <= field::lz; ++f)
      if (!is_plus_zero(states.w[ghosted_at(n, f, -3, -3, -3)])) return false;
    return true;
  }
  static constexpr bool is_plus_zero(double v) { return std::bit_cast<std::uint64_t>(v) == 0; }

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

  template <class V, reconstruction_kind How, int G>
  constexpr void run_group(const reconstruction::field_traits& traits, bool still, int n) const {
    constexpr direction_group group = direction_group::of(G);
    if (group.needs_edges() && fluxes.quadrature == 1) return;
    if (still) return add_still_group<V, G>(traits, n);
    for (int pair = 0; pair < pair_count; ++pair) {
      const triple d = direction_vector(pair);
      if (!group.holds(d)) continue;
      double jumps[ring_cells];
      if (How != reconstruction_kind::minmod && traits.any_steepened_varies())
        states.find_jumps<V>(jump, pair, n, jumps);
      states.sweep_pair<V, How>(traits, pair, n, jumps, slot(d), slot({-d.x, -d.y, -d.z}));
    }
    add_group<V, G>(traits, n);
  }
  /// Adds the fluxes of a group for a sub-grid whose gas is at rest and the same in all cells. All
  /// faces use the states of one vector of cells, so only these are computed.
  template <class V, int G>
  constexpr void add_still_group(const reconstruction::field_traits& traits, int n) const {
    for (int direction = 0; direction < direction_count; ++direction) {
      const triple d = direction_vector(direction);
      if (direction_group::of(G).holds(d))
        states.finish_box<V, true>(traits, direction, n, slot(d), ops<V>::width);
    }
    add_still_axis<V, G, 0>(traits, n);
    add_still_axis<V, G, 1>(traits, n);
    add_still_axis<V, G, 2>(traits, n);
  }
  template <class V, int G, int Axis>
  [[gnu::flatten, gnu::noinline]] constexpr void add_still_axis(
      const reconstruction::field_traits& t, int n) const {
    constexpr direction_group group = direction_group::of(G);
    if constexpr (group.has(Axis))
      fluxes.add_still<V, Axis, group.first_point(Axis), group.end_point(Axis)>(
          n,
          [this](triple d, int) {
            return flux::stored<V>{slot(d), box_size};
          },
          [&t](int k) { return t.absent[k]; });
  }

  template <class V, int G>
  [[gnu::flatten, gnu::noinline]] constexpr void add_group(const reconstruction::field_traits& t,
                                                           int n) const {
    const auto in = [this](triple d, int at) { return flux::stored<V>{slot(d) + at, box_size}; };
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
