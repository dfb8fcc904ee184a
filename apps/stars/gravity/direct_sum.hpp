// SPDX-License-Identifier: Apache-2.0
/// \file
/// Judges of the fast method: the sum over all pairs of cells, and what forces must add up to.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "mesh/octree.hpp"

namespace stars {

/// A mass in a point.
struct point_mass {
  double mass;
  std::array<double, 3> at;
};

/// Returns the masses of the cells of a tree in their centres, by leaf, z, y and x. `density` has
/// [leaves][8][8][8].
[[nodiscard]] std::vector<point_mass> point_masses(const octree& tree, double xscale,
                                                   std::span<const double> density);

/// The potential in a point, and the acceleration; G = 1.
struct attraction {
  double potential = 0.0;
  std::array<double, 3> acceleration{};
};

/// Returns the attraction of all masses but number `receiver` on that one. Time: linear in them.
[[nodiscard]] attraction direct_sum(std::span<const point_mass> masses, std::size_t receiver);

/// Returns the attraction on a cell, by leaf, z, y and x, from the results of a solver:
/// [leaves][4][512], in the order of cell_order.hpp.
[[nodiscard]] attraction attraction_of(std::span<const double> results, std::size_t cell);

/// Relative errors of a solver's results in the mean square of `samples` cells.
struct gravity_errors {
  double potential, acceleration;
};
[[nodiscard]] gravity_errors errors_of(std::span<const point_mass> masses,
                                       std::span<const double> results, int samples);

/// |Σ m g| / Σ m |g| and |Σ r × m g| / Σ |r| |m g|, summed without errors of rounding.
struct force_balance {
  double force, torque;
};
[[nodiscard]] force_balance balance_of(std::span<const point_mass> masses,
                                       std::span<const double> results);

/// A sum without the errors of rounding of a plain one (W. Kahan, Comm. ACM 8 (1965) 40).
class compensated_sum {
 public:
  void add(double a) {
    const double next = a - m_error, sum = m_sum + next;
    m_error = (sum - m_sum) - next;
    m_sum = sum;
  }
  [[nodiscard]] double value() const { return m_sum; }

 private:
  double m_sum = 0.0, m_error = 0.0;
};

/// |Σ v| / Σ scale.
class residual {
 public:
  void add(const std::array<double, 3>& v, double scale);
  [[nodiscard]] double value() const;

 private:
  std::array<compensated_sum, 3> m_sums;
  compensated_sum m_scale;
};

[[nodiscard]] double length(const std::array<double, 3>& v);
[[nodiscard]] std::array<double, 3> cross(const std::array<double, 3>& a,
                                          const std::array<double, 3>& b);

}  // namespace stars
