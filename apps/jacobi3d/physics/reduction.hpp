// SPDX-License-Identifier: Apache-2.0
/// \file
/// Numbers that tell about a whole block: how much a step changed it, its checksum, its error.
///
/// Everything is reduced as a whole number of 64 bits, so that no order of work changes a bit:
/// checksums by addition, norms by the largest, as the pattern of a double without its sign bit
/// grows with its magnitude (and one that is not a number is larger than all others).
#pragma once

#include "group.hpp"
#include "problems.hpp"

namespace jacobi3d {

using pattern = std::uint64_t;
constexpr pattern magnitude(double v) { return std::bit_cast<pattern>(v) & (~pattern{0} >> 1); }
/// What `magnitude` was made from, or the largest of several.
constexpr double norm_of(pattern largest) { return std::bit_cast<double>(largest); }

struct largest {
  constexpr pattern operator()(pattern a, pattern b) const { return a < b ? b : a; }
};
struct sum {
  constexpr pattern operator()(pattern a, pattern b) const { return a + b; }
};

/// |to - from| of a cell.
struct change_of_cell {
  static constexpr const char* name = "change";
  using combine = largest;
  const double* from;
  const double* to;
  constexpr pattern operator()(offset at, triple) const { return magnitude(to[at] - from[at]); }
};

/// What a cell adds to the grid's checksum.
struct checksum_of_cell {
  static constexpr const char* name = "checksum";
  using combine = sum;
  const double* block;
  triple grid;
  triple origin;  ///< of the block in the grid
  constexpr pattern operator()(offset at, triple c) const {
    return checksum_of(block[at],
                       cell_number(grid, origin.x + c.x, origin.y + c.y, origin.z + c.z));
  }
};

/// Distance of a cell from `amplitude` times its initial value.
struct error_of_cell {
  static constexpr const char* name = "error";
  using combine = largest;
  const double* block;
  initial_values initial;
  triple origin;
  double amplitude;
  constexpr pattern operator()(offset at, triple c) const {
    return magnitude(block[at] -
                     amplitude * initial(origin.x + c.x, origin.y + c.y, origin.z + c.z));
  }
};

/// Combines what all threads of a group have found; the first one gets the result.
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

/// First round: each group combines `Cell` over every `range().x`-th row of a block's own cells and
/// stores partial[group].
template <class Cell>
struct reduce_block {
  static constexpr const char* name = Cell::name;
  static constexpr int group_size = group_threads;
  static constexpr int scratch_bytes = group_size * int(sizeof(pattern));
  static constexpr int most_groups = 1024;

  block_layout shape;
  Cell cell;
  pattern* partial;  ///< `groups(shape)` of them

  static constexpr int groups(const block_layout& s) {
    return static_cast<int>(std::min<offset>(most_groups, offset{s.n.y} * s.n.z));
  }
  constexpr triple range() const { return {groups(shape), 1, 1}; }
  template <class Group, class Index>
  constexpr void operator()(Group& g, Index i) const {
    pattern own = 0;
    const auto add_row = [&](int first, int step, offset row) {
      const triple c{0, static_cast<int>(row % shape.n.y), static_cast<int>(row / shape.n.y)};
      const offset at = shape.at(c);
      for (int x = first; x < shape.n.x; x += step)
        own = typename Cell::combine{}(own, cell(at + x, {x, c.y, c.z}));
    };
    const offset rows = offset{shape.n.y} * shape.n.z;
    const int all = range().x;
    if constexpr (single_thread<Group>) {
      for (offset row = i.x; row < rows; row += all) add_row(0, 1, row);
    } else {  // 32 threads to a row, as far as there are so many
      const int team = std::min(32, g.size()), teams = g.size() / team;
      if (g.rank() < team * teams)
        for (offset row = i.x + offset{g.rank() / team} * all; row < rows;
             row += offset{all} * teams)
          add_row(g.rank() % team, team, row);
    }
    const pattern found = of_group<typename Cell::combine>(g, own);
    if (g.rank() == 0) partial[i.x] = found;
  }
};

/// Second round: result[0] = all of `partial` together. Groups: (1, 1, 1).
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

/// The largest change of a cell in a step, for convergence: `norm_of(result)`.
using difference = reduce_block<change_of_cell>;
/// Of a block's own cells; add up those of all blocks.
using checksum = reduce_block<checksum_of_cell>;
/// The largest error of a block against the analytic solution of `mode`: `norm_of(result)`.
using mode_error = reduce_block<error_of_cell>;
using reduce_largest = reduce_partials<largest>;
using reduce_sum = reduce_partials<sum>;

}  // namespace jacobi3d
