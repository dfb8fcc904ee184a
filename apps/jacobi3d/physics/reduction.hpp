// SPDX-License-Identifier: Apache-2.0
/// \file
/// Reductions over a block: the change of a step, the checksum, the error.
///
/// Values are reduced as 64-bit integers, so that the order of work does not change a bit:
/// checksums by addition, norms by the maximum.
#pragma once

#include "group.hpp"
#include "problems.hpp"

namespace jacobi3d {

using apps::largest;
using apps::magnitude;
using apps::norm_of;
using apps::pattern;
using apps::reduce_largest;
using apps::reduce_partials;
using apps::reduce_sum;
using apps::sum;

/// |to - from| of a cell.
struct change_of_cell {
  static constexpr const char* name = "change";
  using combine = largest;
  const double* from;
  const double* to;
  constexpr pattern operator()(offset at, triple) const { return magnitude(to[at] - from[at]); }
};

/// Contribution of a cell to the grid's checksum.
struct checksum_of_cell {
  static constexpr const char* name = "checksum";
  using combine = sum;
  const double* block;
  triple grid;
  triple origin;  ///< first cell of the block in the grid
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

/// First round: each group combines `Cell` over every `range().x`-th row of a block's own cells and
/// stores the result in partial[group].
template <class Cell>
struct reduce_block {
  static constexpr const char* name = Cell::name;
  using combine = typename Cell::combine;
  static constexpr int group_size = group_threads;
  static constexpr int scratch_bytes = group_size * int(sizeof(pattern));

  block_layout shape;
  Cell cell;
  pattern* partial = nullptr;  ///< array of `groups(shape)` results

  static constexpr int groups(const block_layout& s) {
    return static_cast<int>(std::min<offset>(apps::most_partials, offset{s.n.y} * s.n.z));
  }
  constexpr triple range() const { return {groups(shape), 1, 1}; }
  template <class Group, class Index>
  constexpr void operator()(Group& g, Index i) const {
    pattern own = 0;
    const auto add_row = [&](offset row, int first, int step) {
      const triple c{0, static_cast<int>(row % shape.n.y), static_cast<int>(row / shape.n.y)};
      const offset at = shape.at(c);
      for (int x = first; x < shape.n.x; x += step)
        own = typename Cell::combine{}(own, cell(at + x, {x, c.y, c.z}));
    };
    apps::share_rows(g, i.x, range().x, offset{shape.n.y} * shape.n.z, add_row);
    const pattern found = apps::of_group<typename Cell::combine>(g, own);
    if (g.rank() == 0) partial[i.x] = found;
  }
};

/// Largest change of a cell in a step, for convergence: `norm_of(result)`.
using difference = reduce_block<change_of_cell>;
/// Checksum of a block's own cells; the sum over all blocks is the grid's checksum.
using checksum = reduce_block<checksum_of_cell>;
/// Largest error of a block against the analytic solution of `mode`: `norm_of(result)`.
using mode_error = reduce_block<error_of_cell>;

}  // namespace jacobi3d
