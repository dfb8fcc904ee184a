// SPDX-License-Identifier: Apache-2.0
/// \file
/// Initial states by cell of the grid, and what is known of their future.
#pragma once

#include <vector>

#include "common/physics/bits.hpp"
#include "layout.hpp"

namespace jacobi2d {

/// The number of a cell of the grid, each coordinate in -1 … n, ghosts counted.
constexpr std::uint64_t cell_number(extent grid, int x, int y) {
  const auto from_one = [](int i) { return static_cast<std::uint64_t>(i) + 1; };
  return from_one(x) + (static_cast<std::uint64_t>(grid.x) + 2) * from_one(y);
}

enum class problem_kind {
  mode,   ///< product of sines, zero on the boundary: only its amplitude changes
  random  ///< every cell and the boundary at random: every bit depends on every neighbour
};
constexpr const char* name_of(problem_kind kind) {
  return kind == problem_kind::mode ? "mode" : "random";
}

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

/// A problem on a grid; keeps the tables of sines.
class problem {
 public:
  /// \throws std::invalid_argument if an extent is below 1
  problem(problem_kind kind, extent grid, std::uint64_t seed = 1);

  [[nodiscard]] problem_kind kind() const { return m_kind; }
  [[nodiscard]] extent grid() const { return m_grid; }
  /// Reads this object's tables, so that it must not outlive it.
  [[nodiscard]] initial_values values() const { return with(m_sines.data()); }
  /// Reads a copy of `tables()` at `tables`, for example in other memory.
  [[nodiscard]] initial_values with(const double* tables) const;
  /// The two tables one after the other: grid.x + 2, grid.y + 2 numbers.
  [[nodiscard]] const std::vector<double>& tables() const { return m_sines; }

  /// Of `mode`: by what a step multiplies every cell.
  [[nodiscard]] double factor() const;
  /// The same for a number of steps.
  [[nodiscard]] double amplitude(long steps) const;
  /// How far a right answer may be from amplitude times initial value after so many steps, which
  /// hand on no more than the largest error so far and round three sums. Values are at most 1, the
  /// sums at most 2, 3 and 4: with epsilon = 2^-23 rounded by 1/2, 1 and 1 of it. A quarter of
  /// these five halves remains, less than epsilon; and a quarter from the first rounding.
  [[nodiscard]] static double tolerance(long steps);

 private:
  problem_kind m_kind;
  extent m_grid;
  std::uint64_t m_seed;
  std::vector<double> m_sines;
};

}  // namespace jacobi2d
