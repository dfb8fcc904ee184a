// SPDX-License-Identifier: Apache-2.0
/// \file
/// The tests by which leaves are refined.
#pragma once

#include <cstdint>

#include "mesh/layout.hpp"

namespace stars {

/// What a refinement test compares with its threshold. Differences are half of those between the
/// two neighbours of a cell along an axis, the largest of three counts.
enum class refinement_measure : std::int8_t {
  value,               ///< the value of the cell
  difference,          ///< the absolute difference
  relative_difference  ///< that difference over the absolute value of the cell
};

/// A cell is too coarse if the measure of a field is above the threshold.
struct refinement_rule {
  int field;
  refinement_measure measure;
  double threshold;

  /// `u`: the address of the cell's first field in a `ghosted` sub-grid.
  constexpr bool applies(const double* u) const {
    const double* here = u + field * ghosted.field;
    if (measure == refinement_measure::value) return *here > threshold;
    const auto size = [](double v) { return v < 0.0 ? -v : v; };
    const double limit =
        measure == refinement_measure::difference ? threshold : threshold * size(*here);
    for (const int step : {1, ghosted.row, ghosted.plane})
      if (0.5 * size(here[step] - here[-step]) > limit) return true;
    return false;
  }
};

/// Returns whether a sub-grid [15][14][14][14] is too coarse by one of `count` rules: in one of its
/// cells, or of the two layers of cells beyond its faces, which the flow may reach before the next
/// test. Ghost cells beyond edges and vertices are read only as neighbours.
constexpr bool needs_refinement(const refinement_rule* rules, int count, const double* u) {
  constexpr int band = 2;
  const auto beyond = [](int i) { return i < 0 || i >= edge; };
  for (int z = -band; z < edge + band; ++z)
    for (int y = -band; y < edge + band; ++y)
      for (int x = -band; x < edge + band; ++x) {
        if (int(beyond(x)) + int(beyond(y)) + int(beyond(z)) > 1) continue;
        for (int k = 0; k < count; ++k)
          if (rules[k].applies(u + ghosted_at(0, 0, x, y, z))) return true;
      }
  return false;
}

}  // namespace stars
