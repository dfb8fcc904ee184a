// SPDX-License-Identifier: Apache-2.0
/// \file
/// Initial states by cell of the grid, and their analytic development.
#pragma once

#include "common/physics/bits.hpp"
#include "common/physics/problem.hpp"
#include "layout.hpp"

namespace jacobi2d {

/// Returns the number of a cell of the grid, ghosts counted; each coordinate in -1 … n.
constexpr std::uint64_t cell_number(extent grid, int x, int y) {
  const auto from_one = [](int i) { return static_cast<std::uint64_t>(i) + 1; };
  return from_one(x) + (static_cast<std::uint64_t>(grid.x) + 2) * from_one(y);
}

using apps::problem_kind;

/// The function of a problem's initial values, in a form that kernels copy. Each table has the
/// grid's cells along an axis and one ghost at each end.
struct initial_values {
  extent grid;
  problem_kind kind;
  std::uint64_t seed;
  const double *sine_x, *sine_y;  ///< of `mode` only; may point to a copy of the tables

  /// Returns the initial value of a cell of the grid, each coordinate in -1 … n.
  constexpr float operator()(int x, int y) const {
    if (kind == problem_kind::random)
      return apps::random_value<float>(seed, cell_number(grid, x, y));
    return static_cast<float>(mode(x, y));
  }
  /// Returns the initial value of `mode` before it is rounded to float.
  constexpr double mode(int x, int y) const { return sine_x[x + 1] * sine_y[y + 1]; }
};

/// Longest half wave of `mode`, in cells. A step reduces a wave of this length by 3e-4 of its
/// amplitude, and rounding changes it by up to 1.2e-7 of it. Hence, for any grid size, the check
/// detects a missing step within the first 1 500 steps and a zeroed grid within the first 20 000.
inline constexpr int longest_half_wave = 128;

/// A problem on a grid.
class problem : public apps::sine_problem<2> {
 public:
  /// \throws std::invalid_argument if an extent is below 1
  problem(problem_kind kind, extent grid, std::uint64_t seed = 1)
      : sine_problem(kind, {grid.x, grid.y}, seed, longest_half_wave) {}

  [[nodiscard]] extent grid() const { return {cells()[0], cells()[1]}; }
  /// Returns values that read this object's tables: the object must outlive them.
  [[nodiscard]] initial_values values() const { return with(tables().data()); }
  /// Returns values that read a copy of `tables()` at `tables`, for example in other memory.
  [[nodiscard]] initial_values with(const double* tables) const;

  /// Returns the factor by which a step multiplies every cell of `mode`.
  [[nodiscard]] double factor() const;
  /// Returns the factor of `steps` steps.
  [[nodiscard]] double amplitude(long steps) const;
  /// Returns the largest distance of a correct result from amplitude times initial value. A step
  /// passes on at most the largest error so far and rounds three sums. For values of at most 1 the
  /// sums are at most 2, 3 and 4, and their rounding errors at most 1/2, 1 and 1 epsilon, with
  /// epsilon = 2^-23. A quarter of their total 5/2 epsilon remains, which is less than epsilon; the
  /// rounding of the initial values adds 1/4 epsilon. For smaller values the errors are smaller in
  /// proportion.
  [[nodiscard]] double tolerance(long steps) const;
  /// Returns whether enough of `mode` is left after `steps` steps to judge a result by it.
  [[nodiscard]] bool shows(long steps) const { return amplitude(steps) > 2.0 * tolerance(steps); }
};

}  // namespace jacobi2d
