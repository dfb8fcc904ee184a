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

/// A test of a cell: its measure of a field is above the threshold, or below it.
struct refinement_rule {
  int field;
  refinement_measure measure;
  double threshold;
  bool below = false;
  bool joined = false;  ///< counts only together with the rule before it

  /// `cells(f, axis, step)` returns field f of the cell, with step 0, or of its neighbour along an
  /// axis, with step -1 or 1.
  template <class Cells>
  constexpr bool applies(const Cells& cells) const {
    const double here = cells(field, 0, 0);
    if (measure == refinement_measure::value) return holds(here, threshold);
    const auto size = [](double v) { return v < 0.0 ? -v : v; };
    const double limit =
        measure == refinement_measure::difference ? threshold : threshold * size(here);
    double most = 0.0;
    for (int axis = 0; axis < 3; ++axis) {
      const double d = 0.5 * size(cells(field, axis, 1) - cells(field, axis, -1));
      if (d > most) most = d;
    }
    return holds(most, limit);
  }
  friend constexpr bool operator==(const refinement_rule&, const refinement_rule&) = default;

 private:
  constexpr bool holds(double v, double limit) const { return below ? v < limit : v > limit; }
};

/// Returns whether a cell is too coarse by `count` rules: all of a group apply, which is a rule and
/// the `joined` ones after it. `cells` as above.
template <class Cells>
constexpr bool any_applies(const refinement_rule* rules, int count, const Cells& cells) {
  for (int k = 0; k < count;) {
    bool all = true;
    do {
      all = all && rules[k].applies(cells);
    } while (++k < count && rules[k].joined);
    if (all) return true;
  }
  return false;
}

}  // namespace stars
