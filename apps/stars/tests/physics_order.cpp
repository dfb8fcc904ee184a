// SPDX-License-Identifier: Apache-2.0
// Order of convergence across levels: each flow crosses the faces, edges and vertices of a cube, or
// moves along the faces of a column, in which the cells are half as large.
#include <gtest/gtest.h>

#include <cmath>

#include "mesh/adapt.hpp"
#include "tests/exact_sod.hpp"
#include "tests/physics_support.hpp"

namespace stars::test {
namespace {

enum class fine_part { octant, column };  ///< the lower one of the domain; a column along x

/// Returns a tree of leaves of a level, those in a part of the domain refined once.
octree with_fine(fine_part part, int level, boundary_kind boundary) {
  const octree coarse = octree::uniform(level, boundary);
  std::vector<refinement> marks(std::size_t(coarse.leaf_count()), refinement::keep);
  for (int n = 0; n < coarse.leaf_count(); ++n) {
    const node_key& key = coarse.key(n);
    const int half = key.per_edge() / 2;
    const bool column = key.place.y < half && key.place.z < half;
    if (column && (part == fine_part::column || key.place.x < half))
      marks[std::size_t(n)] = refinement::refine;
  }
  return adapt(coarse, marks);
}

snapshot state_on(octree tree, const problem& flow) {
  snapshot s;
  s.grid = {std::move(tree), flow.xscale};
  s.gamma = flow.gamma;
  s.problem = flow.name;
  s.boundary = flow.boundary;
  s.data.resize(snapshot::size_of(s.grid));
  for (int n = 0; n < s.grid.subgrid_count(); ++n)
    fill_subgrid(flow, s.grid.frame_of(n, s.boundary), &s.data[s.index(n, 0, {})]);
  return s;
}

snapshot run_with_fine(fine_part part, const problem& flow, int level, double stop) {
  scheme o;
  o.gamma = flow.gamma;
  return run_until(state_on(with_fine(part, level, flow.boundary), flow), o, stop);
}

double smooth_error(const problem& flow, int level, double stop) {
  return density_error(flow, run_with_fine(fine_part::octant, flow, level, stop)).value();
}

/// Returns the L1 error of the density of Sod's tube along x.
double tube_error(const snapshot& s) {
  const exact_sod exact;
  double sum = 0.0, volume = 0.0;
  for (int n = 0; n < s.grid.subgrid_count(); ++n) {
    const subgrid_frame at = s.grid.frame_of(n, s.boundary);
    const double dx = at.dx(), cell = dx * dx * dx;
    const double* rho = &s.data[s.index(n, field::rho, {})];
    for (int x = 0; x < edge; ++x) {
      const double left = (2 * x + at.lower[0]) * at.half_dx;
      const double mean = exact.mean(left, left + dx, s.time);
      for (int row = 0; row < edge * edge; ++row)
        sum += std::fabs(rho[row * edge + x] - mean) * cell;
    }
    volume += cells_per_subgrid * cell;
  }
  return sum / volume;
}

/// Returns the L1 norm of the part of a wave along +x that travels along -x, over its amplitude:
/// (p' - rho c u) / 2 with rho c = 1.
double reflected(const snapshot& s, double amplitude) {
  double sum = 0.0, volume = 0.0;
  for (int n = 0; n < s.grid.subgrid_count(); ++n) {
    const double dx = s.grid.frame_of(n, s.boundary).dx();
    const double* u = &s.data[s.index(n, 0, {})];
    for (int k = 0; k < cells_per_subgrid; ++k) {
      const auto value = [&](int f) { return u[f * cells_per_subgrid + k]; };
      const double velocity = value(field::sx) / value(field::rho);
      const double kinetic = 0.5 * value(field::sx) * velocity;
      const double pressure = (s.gamma - 1.0) * (value(field::egas) - kinetic) - 1.0 / s.gamma;
      sum += std::fabs(0.5 * (pressure - velocity)) * dx * dx * dx;
      volume += dx * dx * dx;
    }
  }
  return sum / (volume * amplitude);
}

TEST(nightly_wave_across_levels, order_of_a_sound_wave_is_two_and_little_is_reflected) {
  const auto flow = linear_wave_problem();
  const snapshot coarse = run_with_fine(fine_part::octant, *flow, 1, 0.25),
                 fine = run_with_fine(fine_part::octant, *flow, 2, 0.25);
  const double coarse_error = density_error(*flow, coarse).value();
  const double order = std::log2(coarse_error / density_error(*flow, fine).value());
  RecordProperty("order", std::to_string(order));
  EXPECT_GE(order, 1.9);
  const snapshot uniform = run_until(make_linear_wave(1), scheme_for(coarse), 0.25);
  EXPECT_LT(coarse_error, density_error(*flow, uniform).value()) << "the fine cells do not help";
  const double more = reflected(coarse, 1e-6), less = reflected(fine, 1e-6);
  RecordProperty("order_of_reflection", std::to_string(std::log2(more / less)));
  EXPECT_LT(more, 3e-4);
  EXPECT_GT(more, 2.5 * less);
  EXPECT_LT(reflected(uniform, 1e-6), 0.01 * more) << "that of a uniform grid is rounding";
}

TEST(nightly_vortex_across_levels, order_of_a_vortex_is_two) {
  const auto flow = vortex_problem({.azimuth = 30.0});
  const double coarse = smooth_error(*flow, 1, 0.2), fine = smooth_error(*flow, 2, 0.2);
  RecordProperty("order", std::to_string(std::log2(coarse / fine)));
  EXPECT_GE(std::log2(coarse / fine), 1.9);
}

TEST(nightly_sod_across_levels, order_of_a_shock_tube_is_that_of_the_uniform_grid) {
  const auto flow = sod_problem();
  const double stop = 0.1, coarse = tube_error(run_with_fine(fine_part::column, *flow, 1, stop));
  const double uniform = tube_error(run_until(make_sod(1), scheme_for(make_sod(1)), stop));
  EXPECT_LT(coarse, uniform);
  EXPECT_GT(coarse, 0.7 * uniform) << "most of the tube has coarse cells";
  const double fine = tube_error(run_with_fine(fine_part::column, *flow, 2, stop));
  RecordProperty("order", std::to_string(std::log2(coarse / fine)));
  EXPECT_GE(std::log2(coarse / fine), 0.9);
}

}  // namespace
}  // namespace stars::test
