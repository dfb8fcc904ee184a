// SPDX-License-Identifier: Apache-2.0
/// \file
/// The number of floating-point operations of the scheme, counted from its formulae: for each cell
/// and stage, for the full scheme (PPM, nine points, no rotation of the grid). Operations that two
/// neighbours can share are counted once. Cells of ghost layers, contact steepening beyond its
/// first test, and x^y are not counted. This is a lower bound for an implementation that computes
/// all cells; this one repeats operations in ghosts, and leaves out those of uniform variables and
/// of uniform gas at rest.
#pragma once

#include "mesh/layout.hpp"

namespace stars {

struct operation_count {
  double add = 0;  ///< additions and subtractions
  double multiply = 0;
  double compare = 0;  ///< comparisons, minima, maxima
  double divide = 0;
  double root = 0;

  constexpr double total() const { return add + multiply + compare + divide + root; }
  friend constexpr operation_count operator+(operation_count a, operation_count b) {
    return {a.add + b.add, a.multiply + b.multiply, a.compare + b.compare, a.divide + b.divide,
            a.root + b.root};
  }
  friend constexpr operation_count operator*(double n, operation_count a) {
    return {n * a.add, n * a.multiply, n * a.compare, n * a.divide, n * a.root};
  }
};

namespace operations {

inline constexpr operation_count pressure{3, 6, 1, 1, 0};
inline constexpr operation_count jump = 13 * operation_count{1, 1, 1, 1, 0};
inline constexpr operation_count preparation{11, 25, 0, 1, 0};

// One variable along one line. Limited: difference 1, half slope 1 + 1 + 6, interface 3 + 2, two
// offsets, monotonisation 2 + 8, two ends.
inline constexpr operation_count limited{11, 3, 14, 0, 0};
inline constexpr operation_count steepening_test{1, 1, 2, 0, 0};
inline constexpr operation_count linear{4, 1, 4, 0, 0};
inline constexpr operation_count smooth{5, 3, 6, 0, 0};
/// Eleven limited variables (six of them tested for contacts), the spin, the potential.
inline constexpr operation_count profiles =
    13 * (11 * limited + 6 * steepening_test + 3 * linear + smooth);
/// From the ends of the profiles to a state: 26 points.
inline constexpr operation_count states = 26 * operation_count{15, 25, 1, 2, 1};
/// Three faces of nine points.
inline constexpr operation_count fluxes = 27 * operation_count{50, 46, 10, 1, 0};
/// Divergence 5 + 1 and update 2 + 3, for each field.
inline constexpr operation_count change = 15 * operation_count{7, 4, 0, 0, 0};

inline constexpr operation_count per_cell_and_stage =
    pressure + jump + preparation + profiles + states + fluxes + change;

}  // namespace operations

/// Measured rates of one core. On today's processors additions and comparisons (minima, maxima)
/// share their units, multiplications have separate units, and divisions and roots share a slow
/// unit.
struct core_rates {
  double add, multiply, divide, root;  ///< per second
};

/// Returns a lower bound of the time in seconds of a step that computes all cells, on one core: the
/// time of the busiest kind of unit, if the remaining units work concurrently. Memory accesses are
/// not included.
constexpr double step_floor(double cells, const core_rates& rate) {
  const operation_count n = 3 * cells * operations::per_cell_and_stage;
  const double add = (n.add + n.compare) / rate.add;
  const double multiply = n.multiply / rate.multiply;
  const double slow = n.divide / rate.divide + n.root / rate.root;
  const double most = add > multiply ? add : multiply;
  return most > slow ? most : slow;
}

}  // namespace stars
