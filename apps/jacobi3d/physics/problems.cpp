// SPDX-License-Identifier: Apache-2.0
#include "problems.hpp"

#include <cmath>
#include <limits>
#include <numbers>
#include <stdexcept>
#include <string>

namespace jacobi3d {
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

problem::problem(problem_kind kind, triple grid, std::uint64_t seed)
    : m_kind(kind), m_grid(grid), m_seed(seed) {
  for (const int cells : {grid.x, grid.y, grid.z}) {
    if (cells < 1)
      throw std::invalid_argument("grid: " + std::to_string(cells) +
                                  " cells along an axis; at least 1 is needed");
    append_sines(m_sines, cells);
  }
}

initial_values problem::with(const double* tables) const {
  const double* y = tables + m_grid.x + 2;
  return {m_grid, m_kind, m_seed, tables, y, y + m_grid.y + 2};
}

double problem::factor() const {
  const double cosines =
      std::cos(angle(m_grid.x)) + std::cos(angle(m_grid.y)) + std::cos(angle(m_grid.z));
  return (1.0 + 2.0 * cosines) / 7.0;
}

double problem::amplitude(long steps) const {
  return std::pow(factor(), static_cast<double>(steps));
}

double problem::tolerance(long steps) {
  return 8.0 * (static_cast<double>(steps) + 1.0) * std::numeric_limits<double>::epsilon();
}

}  // namespace jacobi3d
