// SPDX-License-Identifier: Apache-2.0
#include "problems.hpp"

#include <cmath>
#include <limits>

namespace jacobi3d {

initial_values problem::with(const double* tables) const {
  const double* y = tables + grid().x + 2;
  return {grid(), kind(), seed(), tables, y, y + grid().y + 2};
}

double problem::factor() const { return (1.0 + 2.0 * sum_of_cosines()) / 7.0; }

double problem::amplitude(long steps) const {
  return std::pow(factor(), static_cast<double>(steps));
}

double problem::tolerance(long steps) {
  return 8.0 * (static_cast<double>(steps) + 1.0) * std::numeric_limits<double>::epsilon();
}

}  // namespace jacobi3d
