// SPDX-License-Identifier: Apache-2.0
/// \file
/// Initial states by cell of the grid, and their analytic development.
#pragma once

#include "common/physics/bits.hpp"
#include "common/physics/problem.hpp"
#include "layout.hpp"

namespace jacobi3d {

using apps::checksum_of;
using apps::mixed;
using apps::random_value;

/// Returns the number of a cell of the grid, ghosts counted; each coordinate in -1 … n.
constexpr std::uint64_t cell_number(triple grid, int x, int y, int z) {
  const auto from_one = [](int i) { return static_cast<std::uint64_t>(i) + 1; };
  const auto with_ghosts = [](int cells) { return static_cast<std::uint64_t>(cells) + 2; };
  return from_one(x) + with_ghosts(grid.x) * (from_one(y) + with_ghosts(grid.y) * from_one(z));
}

using apps::problem_kind;

/// The function of a problem's initial values, in a form that kernels copy. Each table has the
/// grid's cells along an axis and one ghost at each end.
struct initial_values {
  triple grid;
  problem_kind kind;
  std::uint64_t seed;
  const double *sine_x, *sine_y, *sine_z;  ///< of `mode` only; may point to a copy of the tables

  /// Returns the initial value of a cell of the grid, each coordinate in -1 … n.
  constexpr double operator()(int x, int y, int z) const {
    if (kind == problem_kind::random) return random_value(seed, cell_number(grid, x, y, z));
    return sine_x[x + 1] * sine_y[y + 1] * sine_z[z + 1];
  }
};

/// A problem on a grid.
class problem : public apps::sine_problem<3> {
 public:
  /// \throws std::invalid_argument if an extent is below 1
  problem(problem_kind kind, triple grid, std::uint64_t seed = 1)
      : sine_problem(kind, {grid.x, grid.y, grid.z}, seed) {}

  [[nodiscard]] triple grid() const { return {cells()[0], cells()[1], cells()[2]}; }
  /// Returns values that read this object's tables: the object must outlive them.
  [[nodiscard]] initial_values values() const { return with(tables().data()); }
  /// Returns values that read a copy of `tables()` at `tables`, for example in other memory.
  [[nodiscard]] initial_values with(const double* tables) const;

  /// Returns the factor by which a step multiplies every cell of `mode`.
  [[nodiscard]] double factor() const;
  /// Returns the factor of `steps` steps.
  [[nodiscard]] double amplitude(long steps) const;
  /// Returns the largest distance of a correct result from amplitude times initial value: each step
  /// rounds seven times at most, and the tables are rounded once.
  [[nodiscard]] static double tolerance(long steps);
};

}  // namespace jacobi3d
