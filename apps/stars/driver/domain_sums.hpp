// SPDX-License-Identifier: Apache-2.0
/// \file
/// Sums over the cells of the domain for the report of a run.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>

#include "mesh/mesh.hpp"
#include "problems/problem.hpp"

namespace stars {

/// Neumaier's compensated sum.
struct compensated_sum {
  double sum = 0.0;
  double lost = 0.0;

  void add(double v) {
    const double next = sum + v;
    lost += std::abs(sum) >= std::abs(v) ? (sum - next) + v : (v - next) + sum;
    sum = next;
  }
  [[nodiscard]] double value() const { return sum + lost; }
};

/// Sums over the leaves of the domain, in the order of the tree. Parts add their leaves one after
/// the other and pass the sums on, so that the bits do not depend on the parts. Trivially copyable.
struct domain_sums {
  // Cells count by their volume, in cells of the finest level.
  compensated_sum mass;
  compensated_sum energy;  ///< field egas
  double potential = 0.0;  ///< potential energy of the gas in constant gravity, 0 at z = 0

  /// Adds leaves. `own` has the data of the leaves from number `first` on.
  void add(const snapshot& own, int first, double gravity);
};

/// Values of the final state that are made as `domain_sums` are.
struct state_record {
  domain_sums sums;
  density_error_sum error;
  std::uint64_t fnv1a = 0xcbf29ce484222325u;  ///< FNV-1a hash of the bytes of the data

  void add(const snapshot& own, int first, const problem& flow);
  [[nodiscard]] std::string digest() const;
};

/// Returns the volume integral of a density that is `sum` over the domain.
[[nodiscard]] inline double integral(const compensated_sum& sum, const mesh& grid) {
  return sum.value() * grid.cell_volume();
}

}  // namespace stars
