// SPDX-License-Identifier: Apache-2.0
/// \file
/// Fills a block with the initial state of a problem.
#pragma once

#include "group.hpp"
#include "problems.hpp"

namespace jacobi3d {

/// Fills all cells of a block and its ghosts, including the grid's boundary. Both arrays of a block
/// must be filled: a step does not write ghosts, and no neighbour sends the boundary. Groups:
/// `range()`, one for each row.
struct fill_initial {
  static constexpr const char* name = "fill_initial";
  static constexpr int group_size = 128;
  static constexpr int host_grain = 16;

  block_layout shape;
  triple origin;  ///< first cell of the block in the grid
  initial_values values;
  double* block;

  constexpr triple range() const { return {1, shape.n.y + 2, shape.n.z + 2}; }
  template <class Group, class Index>
  constexpr void operator()(Group& g, Index i) const {
    const int y = i.y - 1, z = i.z - 1;
    double* row = block + shape.at(-1, y, z);
    g.for_each(shape.n.x + 2,
               [&](int k) { row[k] = values(origin.x + k - 1, origin.y + y, origin.z + z); });
  }
};

}  // namespace jacobi3d
