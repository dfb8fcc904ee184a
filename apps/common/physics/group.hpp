// SPDX-License-Identifier: Apache-2.0
/// \file
/// Requirements of kernels on their thread group, and reductions by groups.
#pragma once

#include <algorithm>

#include "bits.hpp"
#include "shape.hpp"

namespace apps {

/// A group of one thread, known at compile time: the form for processors with caches, which handles
/// whole rows.
template <class Group>
concept single_thread = requires {
  requires Group::size()
  == 1;
};

/// Threads of a group where a group has many.
inline constexpr int group_threads = 256;

/// Combines the values `own` of all threads of a group. The first thread gets the result.
template <class Combine, class Group>
constexpr pattern of_group(Group& g, pattern own) {
  if constexpr (single_thread<Group>) {
    return own;
  } else {
    auto* found = g.template scratch<pattern>();
    const int rank = g.rank();
    found[rank] = own;
    for (int left = g.size(); left > 1;) {
      g.sync();
      const int half = (left + 1) / 2;
      if (rank + half < left) found[rank] = Combine{}(found[rank], found[rank + half]);
      left = half;
    }
    return found[0];
  }
}

/// Calls visit(row, first, step) for every `groups`-th of `rows` rows, beginning with row `number`.
/// The calling thread handles cells first, first + step, … of that row.
template <class Group, class Visit>
constexpr void share_rows(Group& g, int number, int groups, offset rows, Visit visit) {
  if constexpr (single_thread<Group>) {
    for (offset row = number; row < rows; row += groups) visit(row, 0, 1);
  } else {  // 32 threads for each row, or the whole group if it is smaller
    const int team = std::min(32, g.size()), teams = g.size() / team;
    if (g.rank() < team * teams)
      for (offset row = number + offset{g.rank() / team} * groups; row < rows;
           row += offset{groups} * teams)
        visit(row, g.rank() % team, team);
  }
}

/// Upper limit of groups in the first round of a reduction.
inline constexpr int most_partials = 1024;

/// Second round of a reduction: result[0] = combination of all values of `partial`. Groups: (1, 1,
/// 1).
template <class Combine>
struct reduce_partials {
  static constexpr const char* name = "reduce_partials";
  static constexpr int group_size = group_threads;
  static constexpr int scratch_bytes = group_size * int(sizeof(pattern));

  const pattern* partial;
  int count;
  pattern* result;

  constexpr triple range() const { return {1, 1, 1}; }
  template <class Group, class Index>
  constexpr void operator()(Group& g, Index) const {
    pattern own = 0;
    for (int k = g.rank(); k < count; k += g.size()) own = Combine{}(own, partial[k]);
    const pattern found = of_group<Combine>(g, own);
    if (g.rank() == 0) *result = found;
  }
};
using reduce_largest = reduce_partials<largest>;
using reduce_sum = reduce_partials<sum>;

}  // namespace apps
