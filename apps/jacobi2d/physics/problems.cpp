// SPDX-License-Identifier: Apache-2.0
#include "problems.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <stdexcept>
#include <string>

namespace jacobi2d {
namespace {

double angle(int cells) { return std::numbers::pi / (cells + 1.0); }

/// sin(pi (i + 1) / (cells + 1)) for i = -1 … cells, exactly zero at both ends and symmetric.
void append_sines(std::vector<double>& to, int cells) {
  const int last = cells + 1;
  to.push_back(0.0);
  for (int i = 1; i < last; ++i) to.push_back(std::sin(angle(cells) * std::min(i, last - i)));
  to.push_back(0.0);
}

}  // namespace

problem::problem(problem_kind kind, extent grid, std::uint64_t seed)
    : m_kind(kind), m_grid(grid), m_seed(seed) {
  for (const int cells : {grid.x, grid.y}) {
    if (cells < 1)
      throw std::invalid_argument("grid: " + std::to_string(cells) +
                                  " cells along an axis; at least 1 is needed");
    append_sines(m_sines, cells);
  }
}

initial_values problem::with(const double* tables) const {
  return {m_grid, m_kind, m_seed, tables, tables + m_grid.x + 2};
}

double problem::factor() const {
  return (std::cos(angle(m_grid.x)) + std::cos(angle(m_grid.y))) / 2.0;
}

double problem::amplitude(long steps) const {
  return std::pow(factor(), static_cast<double>(steps));
}

double problem::tolerance(long steps) {
  return (static_cast<double>(steps) + 1.0) * double{std::numeric_limits<float>::epsilon()};
}

}  // namespace jacobi2d
