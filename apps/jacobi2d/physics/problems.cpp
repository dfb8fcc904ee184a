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

/// Sums epsilon times the amplitude of each step; the exponential covers the growth of values by
/// earlier errors.
double problem::tolerance(long steps) const {
  constexpr double epsilon = std::numeric_limits<float>::epsilon();
  const double amplitudes = (1.0 - amplitude(steps)) / (1.0 - factor());
  return epsilon * (1.0 + amplitudes) * std::exp(epsilon * static_cast<double>(steps));
}

}  // namespace jacobi2d
