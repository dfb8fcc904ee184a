// SPDX-License-Identifier: Apache-2.0
// Order of convergence across levels: each flow crosses the faces, edges and vertices of a cube, or
// moves along the faces of a column, in which the cells are half as large.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <memory>
#include <numbers>
#include <utility>

#include "driver/regrid.hpp"
#include "tests/exact_sod.hpp"
#include "tests/part_refined.hpp"

namespace stars::test {
namespace {

snapshot run_with_fine(fine_part part, const problem& flow, int level, double stop,
                       reconstruction_kind how = reconstruction_kind::ppm) {
  scheme o;
  o.gamma = flow.gamma;
  o.reconstruction = how;
  return run_until(initial_state(flow, with_fine(part, level, flow.boundary)), o, stop);
}

double smooth_error(const problem& flow, int level, double stop,
                    reconstruction_kind how = reconstruction_kind::ppm) {
  return density_error(flow, run_with_fine(fine_part::octant, flow, level, stop, how)).value();
}

/// Returns the L1 error of the density. `means(at)` returns a function that gives the exact mean in
/// cell k of the sub-grid `at`.
template <class Means>
double error_of(const snapshot& s, const Means& means) {
  double sum = 0.0, volume = 0.0;
  for (int n = 0; n < s.grid.subgrid_count(); ++n) {
    const subgrid_frame at = s.grid.frame_of(n, s.boundary);
    const double cell = at.dx() * at.dx() * at.dx();
    const double* rho = &s.data[s.index(n, field::rho, {})];
    const auto mean = means(at);
    for (int k = 0; k < cells_per_subgrid; ++k) sum += std::fabs(rho[k] - mean(k)) * cell;
    volume += cells_per_subgrid * cell;
  }
  return sum / volume;
}

/// Returns the L1 error of the density of Sod's tube along x.
double tube_error(const snapshot& s) {
  const exact_sod exact;
  return error_of(s, [&](const subgrid_frame& at) {
    std::array<double, edge> mean{};  // of the cells with the same x
    for (int x = 0; x < edge; ++x) {
      const double left = (2 * x + at.lower[0]) * at.half_dx;
      mean[std::size_t(x)] = exact.mean(left, left + at.dx(), s.time);
    }
    return [mean](int k) { return mean[std::size_t(k % edge)]; };
  });
}

/// What a sound wave along +x has sent elsewhere, as L1 norms over its amplitude.
struct scattered {
  double back = 0.0;    ///< the part that travels along -x: (p' - rho c u) / 2 with rho c = 1
  double across = 0.0;  ///< momentum along y and z
};
scattered scattered_in(const snapshot& s, double amplitude) {
  scattered sum;
  double volume = 0.0;
  for (int n = 0; n < s.grid.subgrid_count(); ++n) {
    const double dx = s.grid.frame_of(n, s.boundary).dx();
    const double* u = &s.data[s.index(n, 0, {})];
    for (int k = 0; k < cells_per_subgrid; ++k) {
      const auto value = [&](int f) { return u[f * cells_per_subgrid + k]; };
      const double velocity = value(field::sx) / value(field::rho);
      const double kinetic = 0.5 * value(field::sx) * velocity;
      const double pressure = (s.gamma - 1.0) * (value(field::egas) - kinetic) - 1.0 / s.gamma;
      sum.back += std::fabs(0.5 * (pressure - velocity)) * dx * dx * dx;
      sum.across += (std::fabs(value(field::sy)) + std::fabs(value(field::sz))) * dx * dx * dx;
      volume += dx * dx * dx;
    }
  }
  return {sum.back / (volume * amplitude), sum.across / (volume * amplitude)};
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
  const scattered more = scattered_in(coarse, 1e-6), less = scattered_in(fine, 1e-6);
  RecordProperty("order_across", std::to_string(std::log2(more.across / less.across)));
  RecordProperty("order_back", std::to_string(std::log2(more.back / less.back)));
  EXPECT_LT(more.across, 1e-3);
  EXPECT_GE(std::log2(more.across / less.across), 1.9);
  EXPECT_LT(more.back, 3e-4);
  EXPECT_GT(more.back, 2.5 * less.back);
  const scattered none = scattered_in(uniform, 1e-6);
  EXPECT_EQ(none.across, 0.0);
  EXPECT_LT(none.back, 0.01 * more.back) << "that of a uniform grid is rounding";
}

/// With kept extrema, what a wave sends back and across falls with about second order.
TEST(nightly_wave_across_levels, has_higher_orders_with_kept_extrema) {
  const auto flow = linear_wave_problem();
  for (const auto& [stop, most] : {std::pair{0.25, 1e-3}, std::pair{0.75, 3.5e-3}}) {
    const auto run = [&](int level) {
      return run_with_fine(fine_part::octant, *flow, level, stop, reconstruction_kind::ppmx);
    };
    const snapshot coarse = run(1), fine = run(2);
    const double more = density_error(*flow, coarse).value() / 1e-6;
    const double less = density_error(*flow, fine).value() / 1e-6;
    EXPECT_LT(more, most) << stop;
    EXPECT_GE(std::log2(more / less), 2.5) << stop;
    const scattered far = scattered_in(coarse, 1e-6), near = scattered_in(fine, 1e-6);
    EXPECT_GE(std::log2(far.across / near.across), 1.9) << stop;
    EXPECT_GE(std::log2(far.back / near.back), 1.7) << stop;
    EXPECT_LT(far.back, 3e-4) << stop;
  }
}

/// A sound wave with a small change of the pressure across it.
class disturbed_wave final : public problem {
 public:
  explicit disturbed_wave(double share)
      : problem(*linear_wave_problem()), m_wave(linear_wave_problem()), m_share(share) {}
  [[nodiscard]] gas_state gas(const double (&r)[3], double dx) const override {
    const double shifted[3] = {r[0] + 0.3, r[1], r[2]};
    gas_state g = m_wave->gas(shifted, dx);
    g.pressure += m_share * 1e-6 * std::sin(std::numbers::pi * (r[1] + 2.0 * r[2]));
    return g;
  }

 private:
  std::unique_ptr<problem> m_wave;
  double m_share;
};

/// Why a wave that has passed many cells beside a change of level is not of second order: any
/// disturbance makes the limiter of the scheme treat pressure and velocity differently, and the
/// effect does not fall with the cells. On a uniform grid it is the same (design note 0059).
TEST(nightly_wave_on_one_level, sends_a_part_back_if_it_is_disturbed) {
  const auto back = [](double share, int level, reconstruction_kind how) {
    const disturbed_wave flow(share);
    const snapshot first = initial_state(flow, level);
    scheme o = scheme_for(first);
    o.reconstruction = how;
    return scattered_in(run_until(first, o, 0.75), 1e-6).back;
  };
  const auto ppm = reconstruction_kind::ppm, ppmx = reconstruction_kind::ppmx;
  EXPECT_LT(back(0.0, 2, ppm), 5e-5);
  EXPECT_GT(back(1e-3, 2, ppm), 5e-4);
  EXPECT_GT(back(1e-3, 2, ppm), 2.0 * back(1e-3, 1, ppm));
  EXPECT_LT(back(1e-3, 2, ppmx), back(1e-3, 1, ppmx)) << "with kept extrema it does not grow";
}

TEST(nightly_vortex_across_levels, order_of_a_vortex_is_two) {
  const auto flow = vortex_problem({.azimuth = 30.0});
  const double coarse = smooth_error(*flow, 1, 0.2), fine = smooth_error(*flow, 2, 0.2);
  RecordProperty("order", std::to_string(std::log2(coarse / fine)));
  EXPECT_GE(std::log2(coarse / fine), 1.9);
  const auto kept = reconstruction_kind::ppmx;
  const double kept_coarse = smooth_error(*flow, 1, 0.2, kept);
  EXPECT_LT(kept_coarse, 0.8 * coarse);
  EXPECT_GE(std::log2(kept_coarse / smooth_error(*flow, 2, 0.2, kept)), 2.5);
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

/// Returns the L1 error of the density of a tube along (1, 1, 1).
double oblique_error(const snapshot& s) {
  const exact_sod exact;
  return error_of(s, [&](const subgrid_frame& at) {
    return [&](int k) {
      const int corner = k % edge + k / edge % edge + k / (edge * edge);
      const double low = (2 * corner + at.lower[0] + at.lower[1] + at.lower[2]) * at.half_dx;
      double mean = 0.0;
      const int points = 6;
      for (int q = 0; q < points * points * points; ++q) {
        const double inside =
            (q % points + q / points % points + q / (points * points) + 1.5) / points;
        mean += exact.density((low + inside * at.dx()) / std::sqrt(3.0) / s.time);
      }
      return mean / (points * points * points);
    };
  });
}

/// The diaphragm crosses the faces and edges of the fine column.
TEST(oblique_sod_across_levels, has_the_errors_of_both_levels_by_their_volumes) {
  const auto flow = sod_problem(
      {.polar = 180.0 / std::numbers::pi * std::acos(1.0 / std::sqrt(3.0)), .azimuth = 45.0});
  const auto uniform = [&](int level) {
    const snapshot first = initial_state(*flow, level);
    return oblique_error(run_until(first, scheme_for(first), 0.1));
  };
  const double coarse = uniform(1), fine = uniform(2);
  EXPECT_LT(fine, coarse);
  const double both = oblique_error(run_with_fine(fine_part::column, *flow, 1, 0.1));
  RecordProperty("error", std::to_string(both));
  EXPECT_LE(both, 0.75 * coarse + 0.25 * fine);
  EXPECT_GT(both, fine);
  scheme worse;
  worse.error.gamma = 1.7;
  const snapshot first = initial_state(*flow, with_fine(fine_part::column, 1, flow->boundary));
  EXPECT_GT(oblique_error(run_until(first, worse, 0.1)), 0.75 * coarse + 0.25 * fine);
}

/// The rules put small cells on both sides of the diaphragm, and the mesh follows the shock.
TEST(nightly_sod_on_a_mesh_that_follows_it, has_the_error_of_the_uniform_mesh_with_fewer_cells) {
  const auto flow = sod_problem();
  const auto run = [&](level_limits limits) {
    snapshot s = initial_state(*flow, limits);
    while (s.time < 0.05) {
      if (limits.min < limits.max) regrid(s, flow->rules, limits);
      s = run_block(s, scheme_for(s), 0.05);
    }
    return s;
  };
  const snapshot refined = run({1, 3}), uniform = run({3, 3});
  EXPECT_LE(refined.grid.cell_count(), 0.6 * double(uniform.grid.cell_count()));
  EXPECT_LE(tube_error(refined), 1.05 * tube_error(uniform));
}

}  // namespace
}  // namespace stars::test
