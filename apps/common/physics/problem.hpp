// SPDX-License-Identifier: Apache-2.0
/// \file
/// Initial states of Jacobi's method, in any number of dimensions.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>
#include <stdexcept>
#include <string>
#include <vector>

namespace apps {

enum class problem_kind {
  mode,   ///< product of sines, zero on the boundary: only its amplitude changes
  random  ///< random cells and boundary: every bit depends on every neighbour
};
constexpr const char* name_of(problem_kind kind) {
  return kind == problem_kind::mode ? "mode" : "random";
}

/// A problem on a grid with the given number of cells along each axis. Holds the tables of sines of
/// `mode`, which has along each axis the fewest half waves of which none is longer than `longest`
/// cells.
template <int Axes>
class sine_problem {
 public:
  /// \throws std::invalid_argument if an extent is below 1
  sine_problem(problem_kind kind, std::array<int, Axes> cells, std::uint64_t seed,
               int longest = std::numeric_limits<int>::max())
      : m_kind(kind), m_seed(seed), m_cells(cells), m_longest(longest) {
    for (const int n : cells) {
      if (n < 1)
        throw std::invalid_argument("grid: " + std::to_string(n) +
                                    " cells along an axis; at least 1 is needed");
      append_sines(n);
    }
  }

  [[nodiscard]] problem_kind kind() const { return m_kind; }
  [[nodiscard]] std::uint64_t seed() const { return m_seed; }
  /// Number of cells along each axis.
  [[nodiscard]] const std::array<int, Axes>& cells() const { return m_cells; }
  /// Returns the tables of all axes, concatenated. The table of an axis holds, for cells i = -1 … n
  /// (ghosts included), sin(pi h (i + 1) / (n + 1)), where h is the number of half waves.
  [[nodiscard]] const std::vector<double>& tables() const { return m_sines; }

 protected:
  /// Returns the sum of cos(pi h / (n + 1)) over all axes, which determines the effect of a step on
  /// `mode`.
  [[nodiscard]] double sum_of_cosines() const {
    double total = 0.0;
    for (const int n : m_cells) total += std::cos(double(half_waves(n)) * angle(n));
    return total;
  }

 private:
  static double angle(int cells) { return std::numbers::pi / (cells + 1.0); }
  [[nodiscard]] std::int64_t half_waves(int cells) const { return cells / m_longest + 1; }
  /// Appends the table of an axis: exactly zero at both ends, and each half wave symmetric where it
  /// covers a whole number of cells.
  void append_sines(int cells) {
    const std::int64_t last = std::int64_t{cells} + 1, waves = half_waves(cells);
    for (std::int64_t i = 0; i <= last; ++i) {
      const std::int64_t within = i * waves % last;
      const double sine = std::sin(angle(cells) * double(std::min(within, last - within)));
      m_sines.push_back(i * waves / last % 2 == 0 || within == 0 ? sine : -sine);
    }
  }

  problem_kind m_kind;
  std::uint64_t m_seed;
  std::array<int, Axes> m_cells;
  int m_longest;  // longest half wave, in cells
  std::vector<double> m_sines;
};

}  // namespace apps
