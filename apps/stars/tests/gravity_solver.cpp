// SPDX-License-Identifier: Apache-2.0
// The fast method against the sum over all pairs.
#include <gtest/gtest.h>

#include <numbers>
#include <stdexcept>

#include "tests/gravity_support.hpp"

namespace stars::test {
namespace {

/// One leaf has no far cells: all pairs are computed one by one.
TEST(gravity, of_a_single_leaf_is_the_sum_over_all_pairs) {
  const octree tree = octree::uniform(0);
  const std::vector<double> density = random_density(tree, 1);
  for (const double xscale : {1.0, 3.7}) {
    const std::vector<double> results = solved(tree, density, {}, xscale);
    const gravity_errors e = errors_of(point_masses(tree, xscale, density), results, 300);
    EXPECT_LT(e.potential, 1e-14);
    EXPECT_LT(e.acceleration, 1e-13);
  }
}

/// Values of an independent program for a uniform sphere away from the centre of the domain:
/// 32³ cells, cells at the surface with the share of 25³ points that are inside.
TEST(gravity, of_a_sphere_has_the_known_norms) {
  const octree tree = octree::uniform(edge == 8 ? 2 : 1);
  constexpr double radius = 1.0 / 3.0, dx = 2.0 / 32.0, volume = dx * dx * dx;
  constexpr double inside = 3.0 / (4.0 * std::numbers::pi * radius * radius * radius);
  constexpr int samples = 25;
  std::vector<double> density;
  for (const point_mass& cell : point_masses(tree, 1.0, std::vector(cell_count(tree), 1.0))) {
    int hits = 0;
    for (int n = 0; n < samples * samples * samples; ++n) {
      const auto at = [&](std::size_t axis, int k) {
        return cell.at[axis] + ((k + 0.5) / samples - 0.5) * dx;
      };
      const double x = at(0, n % samples) - 0.25, y = at(1, n / samples % samples);
      const double z = at(2, n / (samples * samples));
      hits += x * x + y * y + z * z < radius * radius;
    }
    density.push_back(std::max(1e-12, inside * hits / (samples * samples * samples)));
  }
  const std::vector<double> results = solved(tree, density, {});
  double first = 0.0, second = 0.0;
  for (std::size_t n = 0; n < density.size(); ++n) {
    const double product = density[n] * attraction_of(results, n).potential;
    first += std::abs(product) * volume / 8.0;
    second += product * product * volume / 8.0;
  }
  // Larger sub-grids have one level of cells less, so fewer expansions.
  const double digits = edge == 8 ? 1.0 : 1e4;
  EXPECT_NEAR(first, 4.3920182e-1, 5e-9 * digits);
  EXPECT_NEAR(std::sqrt(second), 3.0741690, 5e-8 * digits);
}

struct case_of_theta {
  double theta;
  bool corrects;
};

gravity_errors errors_on(const octree& tree, const case_of_theta& c) {
  const std::vector<double> density = random_density(tree, 1);
  return errors_of(point_masses(tree, 1.0, density), solved(tree, density, {c.theta, c.corrects}),
                   300);
}

/// Neglected terms of a potential are at least of the fourth order in size over distance.
TEST(gravity, has_errors_that_fall_with_the_fourth_power_of_theta) {
  const octree tree = octree::uniform(2);
  const gravity_errors coarse = errors_on(tree, {0.5, false}),
                       fine = errors_on(tree, {0.34, false});
  EXPECT_LT(coarse.potential, 1e-4);
  EXPECT_LT(coarse.acceleration, 8e-3);
  const auto order = [](double with_half, double with_third) {
    return std::log(with_half / with_third) / std::log(0.5 / 0.34);
  };
  EXPECT_NEAR(order(coarse.potential, fine.potential), 4.3, 0.5);
  // A few cells, at which large accelerations cancel, have most of the error.
  EXPECT_NEAR(order(coarse.acceleration, fine.acceleration), 4.3, 0.9);
}

/// The correction moves accelerations, potentials not at all.
TEST(gravity, has_a_larger_error_of_accelerations_with_correction) {
  const octree tree = octree::uniform(2);
  const gravity_errors off = errors_on(tree, {0.5, false}), on = errors_on(tree, {0.5, true});
  EXPECT_EQ(on.potential, off.potential);
  EXPECT_GT(on.acceleration, off.acceleration);
  EXPECT_LT(on.acceleration, 3.0 * off.acceleration);
}

/// Where levels meet, near cells interact with the children of cells of the other level.
TEST(gravity, is_as_exact_across_levels_as_on_one) {
  for (const double theta : {0.5, 0.34}) {
    const gravity_errors one = errors_on(octree::uniform(2), {theta, true});
    const gravity_errors several = errors_on(three_octants_refined(), {theta, true});
    EXPECT_LT(several.acceleration, 1.5 * one.acceleration) << theta;
    EXPECT_LT(several.potential, 1.5 * one.potential) << theta;
  }
}

TEST(gravity, refuses_results_of_another_size) {
  const octree tree = octree::uniform(1);
  const std::vector<double> density(cell_count(tree), 1.0);
  std::vector<double> few(result_count * cell_count(tree) - 1);
  EXPECT_THROW(serial_gravity(tree, 1.0, {}).solve({density.data(), cells_per_subgrid}, few),
               std::invalid_argument);
}

TEST(gravity, cannot_be_solved_again_before_the_first_time) {
  const octree tree = octree::uniform(1);
  std::vector<double> results = results_for(tree);
  const std::vector<double> density(cell_count(tree), 1.0);
  serial_gravity solver(tree, 1.0, {});
  EXPECT_THROW(solver.solve_again({density.data(), cells_per_subgrid}, results), std::logic_error);
}

}  // namespace
}  // namespace stars::test
