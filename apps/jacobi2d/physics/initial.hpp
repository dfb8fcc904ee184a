// SPDX-License-Identifier: Apache-2.0
/// \file
/// Fills a strip with a problem's first state.
#pragma once

#include "common/physics/group.hpp"
#include "problems.hpp"

namespace jacobi2d {

/// All cells of a strip and its ghosts, the grid's boundary among them. Both arrays of a strip must
/// be filled: a step writes no ghosts. Groups: `range()`, a row each.
struct fill_initial {
  static constexpr const char* name = "fill_initial";
  static constexpr int group_size = apps::group_threads;
  static constexpr int host_grain = 16;

  strip_layout shape;
  int origin;  ///< of the strip in the grid: its first row
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
