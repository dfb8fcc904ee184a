// SPDX-License-Identifier: Apache-2.0
#include "problems.hpp"

#include <cmath>
#include <limits>

namespace jacobi2d {

initial_values problem::with(const double* tables) const {
  return {grid(), kind(), seed(), tables, tables + grid().x + 2};
}

double problem::factor() const { return sum_of_cosines() / 2.0; }

double problem::amplitude(long steps) const {
  return std::pow(factor(), static_cast<double>(steps));
}

double problem::tolerance(long steps) {
  return (static_cast<double>(steps) + 1.0) * double{std::numeric_limits<float>::epsilon()};
}

}  // namespace jacobi2d
