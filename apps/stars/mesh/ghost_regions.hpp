// SPDX-License-Identifier: Apache-2.0
/// \file
/// The cells of the 26 ghost regions of a sub-grid, and the cells from which they are filled.
#pragma once

#include "mesh/subgrid.hpp"

namespace stars {

/// Return the cells of a ghost region along one axis: [begin, begin + size) for a direction
/// component.
constexpr int ghost_begin(int component) {
  return component < 0 ? -ghost_width : component > 0 ? edge : 0;
}
constexpr int ghost_size(int component) { return component == 0 ? edge : ghost_width; }

/// Returns the interior cell of the source for ghost coordinate `i` of an axis.
constexpr int source_cell(int i, int component, axis_rule rule) {
  if (component == 0) return i;
  if (rule == axis_rule::zero_gradient) return component < 0 ? 0 : edge - 1;
  if (rule == axis_rule::mirror) return component < 0 ? -1 - i : 2 * edge - 1 - i;
  return i - edge * component;
}

}  // namespace stars
