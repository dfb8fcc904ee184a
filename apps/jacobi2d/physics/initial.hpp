// SPDX-License-Identifier: Apache-2.0
/// \file
/// Fills a strip with the initial state of a problem.
#pragma once

#include "common/physics/group.hpp"
#include "problems.hpp"

namespace jacobi2d {

/// Fills all cells of a strip and its ghosts, including the grid's boundary. Both arrays of a strip
/// must be filled, since a step does not write ghosts. Groups: `range()`, one for each row.
struct fill_initial {
  static constexpr const char* name = "fill_initial";
  static constexpr int group_size = apps::group_threads;
  static constexpr int host_grain = 16;

  strip_layout shape;
  int origin;  ///< first row of the strip in the grid
  initial_values values;
  float* strip;

  constexpr apps::triple range() const { return {1, shape.n.y + 2, 1}; }
  template <class Group, class Index>
  constexpr void operator()(Group& g, Index i) const {
    const int y = i.y - 1;
    float* row = strip + shape.at(-1, y);
    g.for_each(shape.n.x + 2, [&](int k) { row[k] = values(k - 1, origin + y); });
  }
};

}  // namespace jacobi2d
