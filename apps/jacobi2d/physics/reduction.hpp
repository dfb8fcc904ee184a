// SPDX-License-Identifier: Apache-2.0
/// \file
/// Reductions over a strip: the change of a step, the checksum, the error. Values are reduced as
/// 64-bit integers, so that the order of work does not change a bit.
#pragma once

#include "common/physics/group.hpp"
#include "problems.hpp"

namespace jacobi2d {

using apps::pattern;

/// |to - from| of a cell.
struct change_of_cell {
  static constexpr const char* name = "change";
  using combine = apps::largest;
  const float* from;
  const float* to;
  constexpr pattern operator()(offset at, int, int) const {
    return apps::magnitude(double{to[at]} - double{from[at]});
  }
};

/// Contribution of a cell to the grid's checksum.
struct checksum_of_cell {
  static constexpr const char* name = "checksum";
  using combine = apps::sum;
  const float* strip;
  extent grid;
  int origin;  ///< first row of the strip in the grid
  constexpr pattern operator()(offset at, int x, int y) const {
    return apps::checksum_of(strip[at], cell_number(grid, x, origin + y));
  }
};

/// Distance of a cell from `amplitude` times its initial value.
struct error_of_cell {
  static constexpr const char* name = "error";
  using combine = apps::largest;
  const float* strip;
  initial_values initial;
  int origin;
  double amplitude;
  constexpr pattern operator()(offset at, int x, int y) const {
    return apps::magnitude(double{strip[at]} - amplitude * initial.mode(x, origin + y));
  }
};

/// First round: each group combines `Cell` over every `range().x`-th row of a strip's own cells and
/// stores the result in partial[group].
template <class Cell>
struct reduce_strip {
  static constexpr const char* name = Cell::name;
  using combine = typename Cell::combine;
  static constexpr int group_size = apps::group_threads;
  static constexpr int scratch_bytes = group_size * int(sizeof(pattern));

  strip_layout shape;
  Cell cell;
  pattern* partial = nullptr;  ///< array of `groups(shape)` results

  static constexpr int groups(const strip_layout& s) {
    return std::min(int{apps::most_partials}, s.n.y);  // a copy: constants may have no address
  }
  constexpr apps::triple range() const { return {groups(shape), 1, 1}; }
  template <class Group, class Index>
  constexpr void operator()(Group& g, Index i) const {
    pattern own = 0;
    const auto add_row = [&](offset row, int first, int step) {
      const int y = static_cast<int>(row);
      const offset at = shape.at(0, y);
      for (int x = first; x < shape.n.x; x += step)
        own = typename Cell::combine{}(own, cell(at + x, x, y));
    };
    apps::share_rows(g, i.x, range().x, shape.n.y, add_row);
    const pattern found = apps::of_group<typename Cell::combine>(g, own);
    if (g.rank() == 0) partial[i.x] = found;
  }
};

/// Largest change of a cell in a step, for convergence: `norm_of(result)`.
using difference = reduce_strip<change_of_cell>;
/// Checksum of a strip's own cells; the sum over all strips is the grid's checksum.
using checksum = reduce_strip<checksum_of_cell>;
/// Largest error of a strip against the analytic solution of `mode`: `norm_of(result)`.
using mode_error = reduce_strip<error_of_cell>;
using apps::reduce_largest;
using apps::reduce_sum;

}  // namespace jacobi2d
