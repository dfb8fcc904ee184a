// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>

#include "physics/ghosts.hpp"
#include "physics/grouped_flux.hpp"
#include "physics/loop.hpp"
#include "physics_support.hpp"

namespace sedov::test {
namespace {

/// Fluxes and speeds of all sub-grids at once, with states of all points at hand or group by group.
struct result {
  std::vector<double> fluxes, speeds;
  friend bool operator==(const result& a, const result& b) {
    return same_bits(a.fluxes, b.fluxes) && same_bits(a.speeds, b.speeds);
  }
};

std::vector<double> array(int count, int block) {
  return std::vector<double>(static_cast<std::size_t>(count) * static_cast<std::size_t>(block));
}

result stage_of(const snapshot& s, const scheme& o, bool grouped, bool vectors) {
  const int n = s.grid.subgrid_count();
  const bool wide = vectors || grouped;  // for the kernels before
  const int width = wide ? static_cast<int>(host_vector::size()) : 1;
  auto u = array(n, ghosted.block), pressure = array(n, pressure_block),
       jump = array(n, jump_block),
       points = array(n, grouped ? grouped_flux::point_block : point_block);
  // What was there must not matter.
  std::fill(points.begin(), points.end(), std::nan(""));
  result r{array(n, flux_block), array(n, speed_block)};
  std::fill(r.fluxes.begin(), r.fluxes.end(), std::nan(""));
  const stage_kernels k = make_stage({u.data(), u.data(), pressure.data(), jump.data(),
                                      points.data(), r.fluxes.data(), r.speeds.data()},
                                     s.grid, 0, n, o, width);
  run_loop(ghost_fill{s.data.data(), u.data(), s.grid, s.boundary, {}, 0, n, false, 0}, false);
  run_loop(k.pressure, wide);
  run_loop(k.jump, wide);
  run_loop(k.prepare, wide);
  if (grouped) {
    run_loop(grouped_flux{k.points, k.fluxes}, vectors);
  } else {
    run_loop(k.points, vectors);
    run_loop(k.fluxes, vectors);
  }
  return r;
}

void expect_the_same(const snapshot& s, const scheme& o) {
  const result expected = stage_of(s, o, false, true);
  EXPECT_TRUE(stage_of(s, o, false, false) == expected);
  EXPECT_TRUE(stage_of(s, o, true, true) == expected);
  EXPECT_TRUE(stage_of(s, o, true, false) == expected);
}

TEST(grouped_flux, has_the_bits_of_the_two_kernels) {
  const snapshot s = turbulent(1, boundary_kind::outflow, 11);
  scheme o = scheme_for(s);
  expect_the_same(s, o);
  o.omega = 0.3;
  expect_the_same(s, o);
  o.reconstruction = reconstruction_kind::minmod;
  expect_the_same(s, o);
  o.quadrature = quadrature_kind::centre;
  expect_the_same(s, o);
  o = scheme_for(s);
  o.error.edge_terms_dropped = true;
  expect_the_same(s, o);
}

TEST(grouped_flux, has_them_where_some_or_all_species_are_nowhere) {
  for (const int present : {1, 2, 0}) {
    snapshot s = turbulent(1, boundary_kind::periodic, 12);
    for (int n = 0; n < s.grid.subgrid_count(); ++n) {
      for (int k = 0; k < cells_per_subgrid; ++k) {
        const triple c{k % edge, k / edge % edge, k / (edge * edge)};
        const auto value = [&](int f) -> double& { return s.data[s.index(n, f, c)]; };
        value(field::pot) = 0.0;
        for (int i = 0; i < species_count; ++i)
          value(field::species + i) = i < present ? value(field::rho) / present
                                      : i % 2     ? -0.0
                                                  : 0.0;
      }
    }
    expect_the_same(s, scheme_for(s));
  }
}

}  // namespace
}  // namespace sedov::test
