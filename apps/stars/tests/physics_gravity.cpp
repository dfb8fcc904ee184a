// SPDX-License-Identifier: Apache-2.0
// Constant gravity: free fall, equilibrium between walls, conservation, and falling layers.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <numbers>

#include "tests/part_refined.hpp"

namespace stars::test {
namespace {

scheme scheme_of(const problem& flow) {
  scheme o;
  o.gamma = flow.gamma;
  o.gravity = flow.gravity;
  return o;
}

/// Calls `visit(values, r)` for each cell: its first field, and the position of its centre.
void for_each_cell(const snapshot& s,
                   const std::function<void(const double*, const double (&)[3])>& visit) {
  for (int n = 0; n < s.grid.subgrid_count(); ++n) {
    const subgrid_frame at = s.grid.frame_of(n, s.boundary);
    for (int k = 0; k < cells_per_subgrid; ++k) {
      const int c[3] = {k % edge, k / edge % edge, k / (edge * edge)};
      double r[3];
      for (int a = 0; a < 3; ++a) r[a] = (2 * c[a] + 1 + at.lower[a]) * at.half_dx;
      visit(&s.data[s.index(n, 0, {})] + k, r);
    }
  }
}

long double energy_with_potential(const snapshot& s, double gravity) {
  long double sum = 0.0;
  for_each_cell(s, [&](const double* u, const double(&r)[3]) {
    sum += static_cast<long double>(u[field::rho * compact.field]) * gravity * r[2];
  });
  const long double dx = s.grid.dx();
  return total(s, field::egas) + sum * dx * dx * dx;
}

double fastest_fall(const snapshot& s) {
  double most = 0.0;
  for_each_cell(s, [&](const double* u, const double(&)[3]) {
    most = std::fmax(most, std::fabs(u[field::sz * compact.field] / u[0]));
  });
  return most;
}

TEST(gravity, a_uniform_gas_falls_freely) {
  const auto flow = uniform_flow_problem({.speed = 0.5});
  scheme o = scheme_of(*flow);
  o.gravity = 0.75;
  const snapshot s = run_until(initial_state(*flow, 1), o, 0.4);
  double worst = 0.0;
  for_each_cell(s, [&](const double* u, const double(&r)[3]) {
    const auto value = [&](int f) { return u[f * compact.field]; };
    const double fall = -0.75 * 0.4;
    const double expected[][2] = {
        {value(field::rho), 1.0},
        {value(field::sx), 0.5},
        {value(field::sz), fall},
        {value(field::egas), 1.0 / 0.4 + 0.5 * (0.25 + fall * fall)},
        {value(field::lx) - (r[1] * value(field::sz) - r[2] * value(field::sy)), 0.0},
        {value(field::ly) - (r[2] * value(field::sx) - r[0] * value(field::sz)), 0.0}};
    for (const auto& pair : expected) worst = std::fmax(worst, std::fabs(pair[0] - pair[1]));
  });
  EXPECT_LT(worst, 1e-13);
}

TEST(gravity, layers_in_equilibrium_stay_at_rest_with_second_order) {
  const auto flow = rayleigh_taylor_problem({.amplitude = 0.0, .width = 0.15});
  const auto speed_at = [&](int level) {
    return fastest_fall(run_until(initial_state(*flow, level), scheme_of(*flow), 0.2));
  };
  const double coarse = speed_at(1), fine = speed_at(2);
  RecordProperty("order", std::to_string(std::log2(coarse / fine)));
  EXPECT_LT(coarse, 1e-3);
  EXPECT_GE(std::log2(coarse / fine), 1.7);
  scheme without = scheme_of(*flow);
  without.gravity = 0.0;
  EXPECT_GT(fastest_fall(run_until(initial_state(*flow, 1), without, 0.2)), 0.05);
}

/// Ghost cells beside a change of level are interpolated from cells beyond the wall, too. With a
/// pressure there as without gravity the gas falls with 3e-3.
TEST(gravity, layers_stay_at_rest_where_the_level_changes_at_a_wall) {
  const auto flow = rayleigh_taylor_problem({.amplitude = 0.0, .width = 0.15});
  const snapshot uniform = run_until(initial_state(*flow, 1), scheme_of(*flow), 0.2);
  for (const fine_part part : {fine_part::octant, fine_part::column}) {
    const snapshot first = initial_state(*flow, with_fine(part, 1, flow->boundary));
    EXPECT_LE(fastest_fall(run_until(first, scheme_of(*flow), 0.2)), 1.05 * fastest_fall(uniform));
  }
}

TEST(gravity, mass_and_energy_with_its_potential_are_conserved_between_walls) {
  const auto flow = rayleigh_taylor_problem({.amplitude = 0.4});
  const snapshot first = initial_state(*flow, 1);
  const snapshot last = run_steps(first, scheme_of(*flow), 40);
  EXPECT_LT(relative_drift(first, last, field::rho), 2e-16);
  for (const int f : {int{field::rho}, int{field::egas}, int{field::species}})
    EXPECT_EQ(last.outflow[std::size_t(f)], 0.0) << f;
  const auto before = energy_with_potential(first, 0.5), after = energy_with_potential(last, 0.5);
  EXPECT_LT(std::fabs(double((after - before) / before)), 1e-15);
  EXPECT_GT(relative_drift(first, last, field::egas), 1e-4) << "nothing has fallen";
}

TEST(gravity, mirrors_of_the_lower_and_the_upper_wall_are_in_equilibrium) {
  for (const double up : {-1.0, 1.0}) {
    const boundary_transform wall{
        {0, 0, 1}, {axis_rule::inside, axis_rule::inside, axis_rule::mirror}, 2.0};
    double u[field_count] = {};
    u[field::rho] = 1.5;
    u[field::sz] = 0.3;
    u[field::egas] = 4.0 + 0.5 * 0.3 * 0.3 / 1.5;
    const double from[3] = {0.0, 0.0, 0.0}, to[3] = {0.0, 0.0, 0.01 * up};
    wall(u, from, to);
    EXPECT_NEAR(u[field::egas], 4.0 + 0.03 - 2.0 * 1.5 * 0.01 * up, 3e-4);
    EXPECT_EQ(u[field::sz], -0.3);
    const double far[3] = {0.0, 0.0, 10.0 * up};
    wall(u, from, far);
    EXPECT_GT(u[field::egas], 0.03) << "no internal energy is left";
  }
}

TEST(gravity, gives_the_same_bits_with_and_without_vectors) {
  for (const auto kind : {boundary_kind::reflecting, boundary_kind::periodic}) {
    snapshot s = turbulent(0, kind, 5);
    scheme o = scheme_for(s);
    o.gravity = 0.5;
    const auto a = run_steps(s, o, 2, loop_kind::vectors),
               b = run_steps(s, o, 2, loop_kind::single);
    EXPECT_TRUE(same_bits(a.data, b.data));
    o.gravity = 0.0;
    EXPECT_FALSE(same_bits(a.data, run_steps(s, o, 2).data));
  }
}

TEST(gravity, refuses_what_leaves_no_pressure_at_a_wall) {
  EXPECT_THROW(static_cast<void>(rayleigh_taylor_problem({.gravity = 2.0})), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(rayleigh_taylor_problem({.gravity = -3.0})),
               std::invalid_argument);
}

/// Returns the amplitude of the velocity of fall over the interface of `rayleigh_taylor_problem`.
double falling_mode(const snapshot& s) {
  double sum = 0.0, weights = 0.0;
  for_each_cell(s, [&](const double* u, const double(&r)[3]) {
    const double w = std::exp(-std::numbers::pi * std::fabs(r[2]));
    sum += 2.0 * w * u[field::sz * compact.field] / u[0] * std::cos(std::numbers::pi * r[0]);
    weights += w;
  });
  return sum / weights;
}

TEST(rayleigh_taylor, grows_if_the_heavy_gas_is_above_and_oscillates_if_it_is_below) {
  const auto flow = rayleigh_taylor_problem(), stable = rayleigh_taylor_problem({.gravity = -0.5});
  const auto growth = [](const problem& p) {
    const snapshot first = initial_state(p, 1);
    return falling_mode(run_until(first, scheme_of(p), 2.0)) / falling_mode(first);
  };
  EXPECT_GT(growth(*flow), 1.5);
  EXPECT_LT(growth(*stable), 0.8);
}

}  // namespace
}  // namespace stars::test
