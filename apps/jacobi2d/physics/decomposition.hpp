// SPDX-License-Identifier: Apache-2.0
/// \file
/// The decomposition of the grid into strips of rows.
#pragma once

#include <optional>

#include "layout.hpp"

namespace jacobi2d {

/// A grid and the number of its strips, counted from south to north. Their heights differ by at
/// most one row.
struct decomposition {
  extent grid;
  int strips = 0;

  /// Returns the first row of a strip in the grid.
  constexpr int origin(int strip) const {
    return static_cast<int>(offset{strip} * grid.y / strips);
  }
  constexpr extent cells(int strip) const { return {grid.x, origin(strip + 1) - origin(strip)}; }
  /// Returns the strip beyond a side; none at the grid's boundary, which is not periodic.
  constexpr std::optional<int> neighbour(int strip, side d) const {
    const int n = d == side::south ? strip - 1 : strip + 1;
    return n >= 0 && n < strips ? std::optional<int>(n) : std::nullopt;
  }
};

/// Cuts a grid into strips of at least one row.
/// \throws std::invalid_argument whose text begins with the option, if an extent or `strips` is
/// below 1, or if there are fewer rows than strips
[[nodiscard]] decomposition decompose(extent grid, int strips);

}  // namespace jacobi2d
