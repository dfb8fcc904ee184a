// SPDX-License-Identifier: Apache-2.0
/// \file
/// First states of Jacobi's method, in any number of dimensions.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <stdexcept>
#include <string>
#include <vector>

namespace apps {

enum class problem_kind {
  mode,   ///< product of sines, zero on the boundary: only its amplitude changes
  random  ///< every cell and the boundary at random: every bit depends on every neighbour
};
constexpr const char* name_of(problem_kind kind) {
  return kind == problem_kind::mode ? "mode" : "random";
}

/// A problem on a grid of so many cells along each axis; keeps the tables of sines of `mode`.
template <int Axes>
class sine_problem {
 public:
  /// \throws std::invalid_argument if an extent is below 1
  sine_problem(problem_kind kind, std::array<int, Axes> cells, std::uint64_t seed)
      : m_kind(kind), m_seed(seed), m_cells(cells) {
    for (const int n : cells) {
      if (n < 1)
        throw std::invalid_argument("grid: " + std::to_string(n) +
                                    " cells along an axis; at least 1 is needed");
      append_sines(n);
    }
  }

  [[nodiscard]] problem_kind kind() const { return m_kind; }
  [[nodiscard]] std::uint64_t seed() const { return m_seed; }
  /// Along each axis.
  [[nodiscard]] const std::array<int, Axes>& cells() const { return m_cells; }
  /// One table for each axis, one after the other: for cells i = -1 … n, ghosts included,
  /// sin(pi (i + 1) / (n + 1)).
  [[nodiscard]] const std::vector<double>& tables() const { return m_sines; }

 protected:
  /// Of pi / (n + 1) for all axes: what a step does to `mode` follows from it.
  [[nodiscard]] double sum_of_cosines() const {
    double total = 0.0;
    for (const int n : m_cells) total += std::cos(angle(n));
    return total;
  }

 private:
  static double angle(int cells) { return std::numbers::pi / (cells + 1.0); }
  /// Exactly zero at both ends and symmetric.
  void append_sines(int cells) {
    const int last = cells + 1;
    m_sines.push_back(0.0);
    for (int i = 1; i < last; ++i)
      m_sines.push_back(std::sin(angle(cells) * std::min(i, last - i)));
    m_sines.push_back(0.0);
  }

  problem_kind m_kind;
  std::uint64_t m_seed;
  std::array<int, Axes> m_cells;
  std::vector<double> m_sines;
};

}  // namespace apps
