// SPDX-License-Identifier: Apache-2.0
/// \file
/// Initial states by cell of the grid, and what is known of their future.
#pragma once

#include "common/physics/bits.hpp"
#include "common/physics/problem.hpp"
#include "layout.hpp"

namespace jacobi2d {

/// The number of a cell of the grid, each coordinate in -1 … n, ghosts counted.
constexpr std::uint64_t cell_number(extent grid, int x, int y) {
  const auto from_one = [](int i) { return static_cast<std::uint64_t>(i) + 1; };
  return from_one(x) + (static_cast<std::uint64_t>(grid.x) + 2) * from_one(y);
}

using apps::problem_kind;

/// Where a problem's values come from, in a form that kernels copy. The tables have the grid's
/// cells along an axis and one ghost at each end.
struct initial_values {
  extent grid;
  problem_kind kind;
  std::uint64_t seed;
  const double *sine_x, *sine_y;  ///< of `mode` only; the pointers may be moved

  /// Of a cell of the grid, each coordinate in -1 … n.
  constexpr float operator()(int x, int y) const {
    if (kind == problem_kind::random)
      return apps::random_value<float>(seed, cell_number(grid, x, y));
    return static_cast<float>(mode(x, y));
  }
  /// Of `mode`, before it is rounded.
  constexpr double mode(int x, int y) const { return sine_x[x + 1] * sine_y[y + 1]; }
};

/// In cells. A step makes a wave of this length smaller by 3e-4 of it, where rounding may change it
/// by 1.2e-7: a step too few is noticed in the first 1 500, however large the grid, and a grid that
/// is wiped in the first 20 000.
inline constexpr int longest_half_wave = 128;

/// A problem on a grid.
class problem : public apps::sine_problem<2> {
 public:
  /// \throws std::invalid_argument if an extent is below 1
  problem(problem_kind kind, extent grid, std::uint64_t seed = 1)
      : sine_problem(kind, {grid.x, grid.y}, seed, longest_half_wave) {}

  [[nodiscard]] extent grid() const { return {cells()[0], cells()[1]}; }
  /// Reads this object's tables, so that it must not outlive it.
  [[nodiscard]] initial_values values() const { return with(tables().data()); }
  /// Reads a copy of `tables()` at `tables`, for example in other memory.
  [[nodiscard]] initial_values with(const double* tables) const;

  /// Of `mode`: by what a step multiplies every cell.
  [[nodiscard]] double factor() const;
  /// The same for a number of steps.
  [[nodiscard]] double amplitude(long steps) const;
  /// How far a right answer may be from amplitude times initial value after so many steps, which
  /// hand on no more than the largest error so far and round three sums. Of values of at most 1,
  /// sums are at most 2, 3 and 4: with epsilon = 2^-23 rounded by 1/2, 1 and 1 of it. A quarter of
  /// these five halves remains, less than epsilon; and a quarter from the first rounding. Of values
  /// that have become smaller as much less.
  [[nodiscard]] double tolerance(long steps) const;
  /// Whether enough of `mode` is left after so many steps for an answer to be judged by it.
  [[nodiscard]] bool shows(long steps) const { return amplitude(steps) > 2.0 * tolerance(steps); }
};

}  // namespace jacobi2d
