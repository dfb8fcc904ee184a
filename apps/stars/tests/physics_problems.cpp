// SPDX-License-Identifier: Apache-2.0
// The initial states and exact solutions of problems, and how well the scheme follows them.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <stdexcept>

#include "problems/cell_average.hpp"
#include "problems/direction.hpp"
#include "tests/physics_support.hpp"

namespace stars::test {
namespace {

double error_of(const problem& flow, const snapshot& s) { return density_error(flow, s).value(); }

/// Returns the density error of a problem at a time.
double error_at(const problem& flow, int level, double stop, scheme o = {}) {
  o.gamma = flow.gamma;
  return error_of(flow, run_until(initial_state(flow, level), o, stop));
}

TEST(cell_average, is_exact_for_polynomials_of_degree_five) {
  const double centre[3] = {0.3, -0.2, 0.1}, dx = 0.5;
  const gas_state g = cell_average(centre, dx, 1.4, [](const double(&r)[3]) {
    return gas_state{1.0 + std::pow(r[0], 5) + std::pow(r[1], 4), 1.0, {2.0, 0.0, 0.0}, 3};
  });
  const auto mean = [&](double x, int n) {
    return (std::pow(x + 0.5 * dx, n + 1) - std::pow(x - 0.5 * dx, n + 1)) / (dx * (n + 1));
  };
  EXPECT_NEAR(g.rho, 1.0 + mean(0.3, 5) + mean(-0.2, 4), 1e-15);
  EXPECT_NEAR(g.v[0], 2.0, 1e-15);
  EXPECT_NEAR(g.pressure, 1.0, 1e-14);
  EXPECT_EQ(g.species, 3);
}

TEST(cell_average, holds_the_energy_of_the_motion_inside_a_cell_as_pressure) {
  const double centre[3] = {0.0, 0.0, 0.0};
  const gas_state g = cell_average(centre, 2.0, 1.5, [](const double(&r)[3]) {
    return gas_state{1.0, 1.0, {r[1], 0.0, 0.0}, 0};
  });
  EXPECT_NEAR(g.v[0], 0.0, 1e-16);
  EXPECT_NEAR(g.pressure, 1.0 + 0.5 * (0.5 / 3.0), 1e-15);  // the mean of v²/2 is 1/6
}

TEST(density_error, is_that_of_each_cell_weighted_by_its_volume) {
  const auto flow = uniform_flow_problem();
  snapshot s = initial_state(*flow, 1);
  EXPECT_EQ(error_of(*flow, s), 0.0);
  s.data[s.index(3, field::rho, {1, 2, 3})] -= 0.5;
  EXPECT_NEAR(error_of(*flow, s), 0.5 / 4096.0, 1e-18);
  EXPECT_FALSE(density_error(*sod_problem(), s).has_value());
}

TEST(uniform_flow, stays_as_it_is) {
  const auto flow = uniform_flow_problem({.speed = 2.0, .polar = 60.0, .azimuth = 20.0});
  EXPECT_LT(error_at(*flow, 1, 0.3), 1e-14);
  const double centre[3] = {0.0, 0.0, 0.0};
  const gas_state g = flow->gas(centre, 1.0);
  EXPECT_NEAR(g.v[2], 1.0, 1e-15);
  EXPECT_NEAR(g.v[1] / g.v[0], std::tan(20.0 * std::numbers::pi / 180.0), 1e-15);
}

TEST(linear_wave, its_error_is_that_of_the_wave_and_has_second_order) {
  const auto flow = linear_wave_problem();
  const double coarse = error_at(*flow, 1, 0.25), fine = error_at(*flow, 2, 0.25);
  EXPECT_GE(std::log2(coarse / fine), 1.9);
  EXPECT_LT(fine, 0.01 * 1e-6);
  snapshot s = initial_state(*flow, 1);
  s.time = 1.0;  // half a wavelength away
  EXPECT_NEAR(error_of(*flow, s), 2e-6 * 2.0 / std::numbers::pi, 2e-8);
}

TEST(vortex, is_in_equilibrium_and_isentropic) {
  const auto flow = vortex_problem({.speed = 0.0});
  const double dx = 1e-4;  // so that averages are values
  const auto at = [&](double x) {
    const double centre[3] = {x, 0.0, 0.0};
    return flow->gas(centre, dx);
  };
  for (const double x : {0.05, 0.2, 0.37}) {
    const gas_state g = at(x);
    const double slope = (at(x + 1e-3).pressure - at(x - 1e-3).pressure) / 2e-3;
    EXPECT_NEAR(slope, g.rho * g.v[1] * g.v[1] / x, 1e-4 * slope);
    EXPECT_NEAR(g.pressure, std::pow(g.rho, 1.4), 1e-6);
    EXPECT_NEAR(g.v[0], 0.0, 1e-12);
  }
  EXPECT_NEAR(at(0.2).v[1], 5.0 / (2.0 * std::numbers::pi), 1e-6);
}

TEST(vortex, returns_to_its_place_after_a_period) {
  const auto flow = vortex_problem({.speed = 0.5, .azimuth = 90.0});
  snapshot s = initial_state(*flow, 1);
  s.time = 4.0;
  EXPECT_LT(error_of(*flow, s), 1e-14);
  s.time = 1.0;
  EXPECT_GT(error_of(*flow, s), 1e-2);
}

TEST(vortex, converges_with_second_order) {
  const auto flow = vortex_problem({.azimuth = 30.0});
  const double stop = 0.2, coarse = error_at(*flow, 1, stop), fine = error_at(*flow, 2, stop);
  RecordProperty("order", std::to_string(std::log2(coarse / fine)));
  EXPECT_GE(std::log2(coarse / fine), 1.9);
  EXPECT_LT(fine, 1e-3);
  scheme worse;
  worse.reconstruction = reconstruction_kind::minmod;
  EXPECT_GT(error_at(*flow, 1, stop, worse), 1.5 * coarse);
  worse = {};
  worse.error.edge_terms_dropped = true;
  EXPECT_GT(error_at(*flow, 1, stop, worse), 1.5 * coarse);
}

TEST(vortex, refuses_options_without_a_solution) {
  EXPECT_THROW(static_cast<void>(vortex_problem({.strength = 11.0})), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(vortex_problem({.radius = 0.3})), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(vortex_problem({.radius = -0.1})), std::invalid_argument);
}

/// The formulae of McNally et al. (2012), their equations 1 to 3, in the lower half of the domain.
TEST(kelvin_helmholtz, starts_as_published) {
  const auto flow = kelvin_helmholtz_problem({.xscale = 0.5});
  EXPECT_EQ(flow->gamma, 5.0 / 3.0);
  for (const double y : {0.02, 0.2, 0.24, 0.26, 0.3, 0.49}) {
    for (const double image : {y, 1.0 - y}) {
      const double centre[3] = {0.125 - 0.5, image - 0.5, 0.1};
      const gas_state g = flow->gas(centre, 1e-5);
      const double rho_m = -0.5, u_m = 0.5, layer = 0.025;
      const double e = std::exp(-std::fabs(y - 0.25) / layer);
      EXPECT_NEAR(g.rho, y < 0.25 ? 1.0 - rho_m * e : 2.0 + rho_m * e, 1e-7);
      EXPECT_NEAR(g.v[0], y < 0.25 ? 0.5 - u_m * e : -0.5 + u_m * e, 1e-7);
      EXPECT_NEAR(g.v[1], 0.01, 1e-7);  // sin(4 pi / 8)
      EXPECT_NEAR(g.pressure, 2.5, 1e-6);
    }
  }
}

TEST(kelvin_helmholtz, refuses_layers_that_overlap) {
  EXPECT_THROW(static_cast<void>(kelvin_helmholtz_problem({.width = 0.3})), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(kelvin_helmholtz_problem({.width = 0.0})), std::invalid_argument);
}

/// Beyond each periodic face is the mirror image of a symmetric flow, also after the blast has met
/// its images.
TEST(blast, in_a_periodic_box_is_that_between_walls) {
  const auto last = [](boundary_kind kind) {
    const snapshot first = make_blast(1, {.boundary = kind});
    return run_steps(first, scheme_for(first), 40);
  };
  const snapshot a = last(boundary_kind::periodic), b = last(boundary_kind::reflecting);
  EXPECT_NEAR(a.time, b.time, 1e-12);
  EXPECT_GT(a.at(field::rho, {0, 7, 7}), 1.5) << "the blast has not reached the face";
  double worst = 0.0;
  for (std::size_t k = 0; k < a.data.size(); ++k)
    if (k / cells_per_subgrid % field_count <= field::sz)
      worst = std::fmax(worst, std::fabs(a.data[k] - b.data[k]));
  EXPECT_LT(worst, 1e-11);
  EXPECT_LT(relative_drift(make_blast(1), a, field::egas), 5e-15);
}

}  // namespace
}  // namespace stars::test
