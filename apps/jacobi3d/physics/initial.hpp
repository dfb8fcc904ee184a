// SPDX-License-Identifier: Apache-2.0
/// \file
/// Fills a block with a problem's first state.
#pragma once

#include "group.hpp"
#include "problems.hpp"

namespace jacobi3d {

/// All cells of a block and its ghosts, the grid's boundary among them. Both arrays of a block must
/// be filled: a step writes no ghosts, and boundaries have no neighbour who sends them. Groups:
/// `range()`, a row each.
struct fill_initial {
  static constexpr const char* name = "fill_initial";
  static constexpr int group_size = 128;
  static constexpr int host_grain = 16;

  block_layout shape;
  triple origin;  ///< of the block in the grid
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
