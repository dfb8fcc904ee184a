// SPDX-License-Identifier: Apache-2.0
/// \file
/// `far_field` and `near_field` with the same bits for processors with memory shared by a group of
/// threads.
#pragma once

#include "gravity/near_field.hpp"

namespace stars {

/// A thread for each run of the partners of each of 64 cells, which have the same parity. Groups:
/// (8, 1, count).
struct grouped_far_field {
  far_field field;

  static constexpr int cells = 64;
  static constexpr int numbers = term::count + 3;
  static constexpr int scratch_bytes = far_runs * cells * numbers * int(sizeof(double));
  static constexpr int group_size = far_runs * cells, least_blocks = 1;

  constexpr extent range() const { return {cells_per_subgrid / cells, 1, field.count}; }
  template <class Group, class Index>
  constexpr void operator()(Group& g, Index i) const {
    auto* sums = g.template scratch<double>();  // [23][runs][64]
    const int node = field.node_of(i.z), first = i.x * cells;
    g.for_each(far_runs * cells, [&](int k) {
      const int run = k / cells, place = first + k % cells;
      const far_sum<double> sum = field.dipoles ? field.template sum_run<true>(node, place, run)
                                                : field.template sum_run<false>(node, place, run);
      for (int t = 0; t < term::count; ++t) sums[t * group_size + k] = sum.potential.at[t];
      double* correction = sums + term::count * group_size + k;
      correction[0] = sum.correction.x;
      correction[group_size] = sum.correction.y;
      correction[2 * group_size] = sum.correction.z;
    });
    g.sync();
    const int interior = node - field.tree.leaves;
    g.for_each(numbers * cells, [&](int k) {
      const int number = k / cells, place = first + k % cells;
      const double* of = sums + number * group_size + k % cells;
      double sum = of[0];
      for (int run = 1; run < far_runs; ++run) sum += of[run * cells];
      const bool is_term = number < term::count;
      double* to = is_term ? field.arrays.expansions : field.arrays.corrections;
      const index_type row = is_term ? index_type{interior} * term::count + number
                                     : index_type{interior} * 3 + (number - term::count);
      to[row * cells_per_subgrid + place] = sum;
    });
  }
};

/// A thread for two cells of a leaf. The group has the masses around the leaf, as far as the
/// partners reach, in its scratch memory. Groups: (1, 1, count).
template <int Reach>
struct grouped_near_field {
  near_field field;  ///< its partners have this reach

  static constexpr group_cube cube{Reach};
  static constexpr int scratch_bytes = group_count * cube.cells() * int(sizeof(double));
  static constexpr int group_size = 256, least_blocks = 3;
  static constexpr int half = cells_per_group / 2;

  constexpr extent range() const { return {1, 1, field.count}; }
  template <class Group, class Index>
  constexpr void operator()(Group& g, Index i) const {
    auto* masses = g.template scratch<double>();
    constexpr int row = cube.row(), plane = cube.plane(), cells = cube.cells();
    g.for_each(group_count * cells, [&](int k) {
      const int at = k % cells;
      const triple position{at % row - Reach, at / row % row - Reach, at / plane - Reach};
      masses[k] = field.mass_in_leaf(field.tree.find(i.z, k / cells, position));
    });
    g.sync();
    g.for_each(cells_per_subgrid / 2, [&](int k) {
      const int group = k / half, place = k % half;
      const double* low = masses + cube.place(position_in_group(place));
      const double* high = masses + cube.place(position_in_group(place + half));
      double of_low[result_count] = {}, of_high[result_count] = {};
      const stencil_view& list = field.partners;
      for (int n = list.begin[group]; n < list.begin[group + 1]; ++n) {
        const pair_potential pair = field.pairs[n];
        const int distance = list.distances[n];
        field.add(pair, low[distance], of_low);
        field.add(pair, high[distance], of_high);
      }
      field.store(i.z, group * cells_per_group + place, of_low);
      field.store(i.z, group * cells_per_group + place + half, of_high);
    });
  }
};

}  // namespace stars
