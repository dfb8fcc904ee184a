// SPDX-License-Identifier: Apache-2.0
// The norms of the blast that Octo-Tiger's tests print (test_problems/blast, without
// angular-momentum correction), and those of a refined mesh against a uniform one.
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "driver/regrid.hpp"
#include "tests/exact_sedov.hpp"
#include "tests/physics_support.hpp"

namespace stars::test {
namespace {

constexpr double stop_time = 0.01;
constexpr double age = 7e-4;  ///< of the point explosion at the start

constexpr int fields = 4;
constexpr int field_numbers[fields] = {field::rho, field::egas, field::tau, field::sx};
using values = std::array<double, fields>;

struct norms {
  values l1{}, l2{};
};

/// Returns the exact fields at a point.
values exact_at(const tabulated_sedov& exact, const double (&r)[3], double least) {
  const double radius = std::fmax(std::sqrt(r[0] * r[0] + r[1] * r[1] + r[2] * r[2]), 1e-3 * least);
  const radial_gas g = exact.at(radius);
  const double e = std::fmax(g.pressure / 0.4, 1e-20);
  return {g.rho, e + 0.5 * g.rho * g.v * g.v, std::pow(e, 1.0 / 1.4), g.rho * g.v * r[0] / radius};
}

/// Returns the mean over `points`^3 points of a cell.
values mean_of(const tabulated_sedov& exact, const double (&r)[3], double dx, int points,
               double least) {
  values sum{};
  for (int k = 0; k < points * points * points; ++k) {
    const int at[3] = {k % points, k / points % points, k / (points * points)};
    double p[3];
    for (int a = 0; a < 3; ++a) p[a] = r[a] + ((at[a] + 0.5) / points - 0.5) * dx;
    const values v = exact_at(exact, p, least);
    for (std::size_t f = 0; f < fields; ++f) sum[f] += v[f] / (points * points * points);
  }
  return sum;
}

/// Returns the mean as Octo-Tiger's tests compute it: from 1, 2, 4 … `most` points along an edge,
/// until the distance from the density `rho` changes by less than a tenth.
values sampled_mean(const tabulated_sedov& exact, double rho, const double (&r)[3], double dx,
                    int most, double least) {
  values mean = mean_of(exact, r, dx, 1, least);
  for (int points = 2; points <= most; points *= 2) {
    const double before = rho - mean[0];
    if (before == 0.0) break;
    mean = mean_of(exact, r, dx, points, least);
    if (std::fabs(std::fabs((rho - mean[0]) / before) - 1.0) < 0.1) break;
  }
  return mean;
}

norms norms_of(const snapshot& s, int most) {
  const tabulated_sedov exact(s.time + age);
  norms sums;
  double volume = 0.0;
  for (int n = 0; n < s.grid.subgrid_count(); ++n) {
    const subgrid_frame at = s.grid.frame_of(n, s.boundary);
    const double dv = at.dx() * at.dx() * at.dx();
    const double* u = &s.data[s.index(n, 0, {})];
    for (int k = 0; k < cells_per_subgrid; ++k) {
      const int c[3] = {k % edge, k / edge % edge, k / (edge * edge)};
      double r[3];
      for (int a = 0; a < 3; ++a) r[a] = (2 * c[a] + 1 + at.lower[a]) * at.half_dx;
      const values mean =
          sampled_mean(exact, u[field::rho * compact.field + k], r, at.dx(), most, s.grid.dx());
      for (std::size_t f = 0; f < fields; ++f) {
        const double d = std::fabs(u[field_numbers[f] * compact.field + k] - mean[f]);
        sums.l1[f] += d * dv;
        sums.l2[f] += d * d * dv;
      }
    }
    volume += cells_per_subgrid * dv;
  }
  for (std::size_t f = 0; f < fields; ++f) {
    sums.l1[f] /= volume;
    sums.l2[f] = std::sqrt(sums.l2[f] / volume);
  }
  return sums;
}

/// A run with Octo-Tiger's time steps and changes of the mesh.
struct blast_run {
  snapshot last;
  long steps = 0;
  long cells = 0;  ///< the sum over the steps
};
blast_run run_blast(level_limits limits, scheme numerics = {}) {
  const auto flow = blast_problem(limits.max);
  numerics.gamma = flow->gamma;
  blast_run run{initial_state(*flow, limits)};
  while (run.last.time < stop_time) {
    if (limits.min < limits.max) regrid(run.last, flow->rules, limits);
    const long before = run.last.step;
    run.last = run_block(run.last, numerics, stop_time);
    run.cells += (run.last.step - before) * run.last.grid.cell_count();
  }
  run.steps = run.last.step;
  return run;
}

/// Returns the largest relative difference from the printed norms.
double difference(const norms& a, const norms& b) {
  double most = 0.0;
  for (std::size_t f = 0; f < fields; ++f)
    most = std::fmax(
        most, std::fmax(std::fabs(a.l1[f] / b.l1[f] - 1.0), std::fabs(a.l2[f] / b.l2[f] - 1.0)));
  return most;
}

/// Of rho, egas, tau and sx, for sub-grids of 8³ cells and levels up to 3.
constexpr norms printed = {{9.966026e-04, 3.745673e-02, 4.964663e-03, 2.994212e-03},
                           {1.888472e-02, 7.010659e-01, 1.077016e-01, 6.572307e-02}};

TEST(sedov, the_reference_conserves_mass_and_energy) {
  const exact_sedov exact(0.0107);
  double mass = 0.0, energy = 0.0;
  const int count = 20000;
  for (int k = 0; k < count; ++k) {
    const double r = (k + 0.5) / count * exact.radius(), shell = 4.0 * 3.14159265358979 * r * r;
    const radial_gas g = exact.at(r);
    mass += g.rho * shell;
    energy += (g.pressure / 0.4 + 0.5 * g.rho * g.v * g.v) * shell;
  }
  const double dr = exact.radius() / count, radius = exact.radius();
  EXPECT_NEAR(mass * dr, 4.0 / 3.0 * 3.14159265358979 * radius * radius * radius, 1e-6);
  EXPECT_NEAR(energy * dr, 1.0, 1e-5);
}

TEST(nightly_blast_norms, of_level_3_are_the_published_ones_to_six_digits) {
  const blast_run run = run_blast({1, 3});
  EXPECT_EQ(run.steps, 15);
  EXPECT_LT(difference(norms_of(run.last, 8), printed), 1e-6);
}

TEST(nightly_blast_norms, of_another_scheme_differ) {
  scheme worse;
  worse.error.edge_terms_dropped = true;
  EXPECT_GT(difference(norms_of(run_blast({1, 3}, worse).last, 8), printed), 0.02);
}

TEST(nightly_blast_on_levels, has_the_errors_of_the_uniform_mesh_with_fewer_cells) {
  const blast_run refined = run_blast({1, 3}), uniform = run_blast({3, 3});
  EXPECT_LE(double(refined.cells) / double(uniform.cells), 0.6);
  const norms a = norms_of(refined.last, 8), b = norms_of(uniform.last, 8);
  for (std::size_t f = 0; f < fields; ++f) EXPECT_LE(a.l1[f], 1.15 * b.l1[f]) << f;
}

}  // namespace
}  // namespace stars::test
