// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>

#include "hydro/grouped_flux.hpp"
#include "kernel/loop.hpp"
#include "tests/physics_support.hpp"
#include "transfer/ghosts.hpp"

namespace stars::test {
namespace {

/// Fluxes and speeds of all sub-grids, computed from the states of all points, or group by group.
struct result {
  std::vector<double> fluxes, speeds;
  friend bool operator==(const result& a, const result& b) {
    return same_bits(a.fluxes, b.fluxes) && same_bits(a.speeds, b.speeds);
  }
};

std::vector<double> array(int count, int block) {
  return std::vector<double>(static_cast<std::size_t>(count) * static_cast<std::size_t>(block));
}

enum class form { three_kernels, grouped };

/// Computes a stage with vectors of type V, or one index at a time for double; `width` is the lanes
/// of the arrays' layout.
template <class V>
result stage_of(const snapshot& s, const scheme& o, form how, int width) {
  const int n = s.grid.subgrid_count();
  const part_plan tables = tables_of(s);
  const bool grouped = how == form::grouped;
  auto u = array(n, ghosted.block), pressure = array(n, pressure_block),
       jump = array(n, jump_block), points = array(grouped ? 1 : n, point_block);
  // Previous contents must not matter.
  std::fill(points.begin(), points.end(), std::nan(""));
  result r{array(n, flux_block), array(n, speed_block)};
  std::fill(r.fluxes.begin(), r.fluxes.end(), std::nan(""));
  const stage_kernels k = make_stage({u.data(), u.data(), pressure.data(), jump.data(),
                                      points.data(), r.fluxes.data(), r.speeds.data()},
                                     tables.frames.data(), n, o, width);
  run_loop(ghosts_of_all(s, tables, u.data()), false);
  run_loop(k.pressure, false);
  if (!grouped) run_loop(k.jump, false);
  run_loop(k.prepare, false);
  if (width == 1 && !grouped) {
    run_loop(k.points, false);
    run_loop(k.fluxes, false);
    return r;
  }
  for (int z = 0; z < n; ++z) {
    const loop_index here{0, 0, z};
    if (grouped) {
      std::fill(points.begin(), points.end(), std::nan(""));
      grouped_flux{k.jump, k.points, k.fluxes}.compute<V>(z, points.data());
    } else {
      k.points.template lanes<V>(here);
      k.fluxes.template lanes<V>(here);
    }
  }
  return r;
}

template <class V>
void expect_vectors_give(const result& expected, const snapshot& s, const scheme& o) {
  constexpr int width = ops<V>::width;
  EXPECT_TRUE(stage_of<V>(s, o, form::grouped, width) == expected) << width << " lanes";
  if (width > 1) {
    EXPECT_TRUE(stage_of<V>(s, o, form::three_kernels, width) == expected) << width << " lanes";
  }
}

/// Compares with the reference, one index at a time: the form that a GPU runs.
void expect_the_same(const snapshot& s, const scheme& o) {
  const result expected = stage_of<double>(s, o, form::three_kernels, 1);
  expect_vectors_give<double>(expected, s, o);
  expect_vectors_give<host_vector>(expected, s, o);
  expect_vectors_give<vector_of<2>>(expected, s, o);
  expect_vectors_give<vector_of<4>>(expected, s, o);
  expect_vectors_give<vector_of<8>>(expected, s, o);
}

TEST(grouped_flux, has_the_bits_of_the_three_kernels) {
  const snapshot s = turbulent(1, boundary_kind::outflow, 11);
  scheme o = scheme_for(s);
  expect_the_same(s, o);
  o.omega = 0.3;
  expect_the_same(s, o);
  for (const auto kind : {reconstruction_kind::ppmx, reconstruction_kind::minmod}) {
    o.reconstruction = kind;
    expect_the_same(s, o);
  }
  o.quadrature = quadrature_kind::centre;
  expect_the_same(s, o);
  o = scheme_for(s);
  o.error.edge_terms_dropped = true;
  expect_the_same(s, o);
}

TEST(grouped_flux, has_the_bits_where_one_cell_has_no_species) {
  snapshot s = make_blast(1);
  scheme kept = scheme_for(s);
  kept.reconstruction = reconstruction_kind::ppmx;
  expect_the_same(s, kept);
  s.data[s.index(0, field::species, {3, 4, 5})] = 0.0;
  expect_the_same(s, scheme_for(s));
  expect_the_same(s, kept);
}

/// From a field to the next one that a test changes: larger sub-grids take eight times as long.
constexpr int next_field = edge == 8 ? 1 : field::lz - field::sx;

/// A domain with the same gas everywhere, at rest.
snapshot still_gas() {
  const double values[field_count] = {2.0, 3.0, 1.5, 0.0,  0.0, 0.0, 0.0, 0.0,
                                      0.0, 0.0, 1.5, -0.0, 0.5, 0.0, 0.0};
  snapshot s = make_blast(1);
  s.boundary = boundary_kind::periodic;
  for (std::size_t k = 0; k < s.data.size(); ++k)
    s.data[k] = values[k / cells_per_subgrid % field_count];
  return s;
}
void fill(snapshot& s, int f, double value) {
  for (int n = 0; n < s.grid.subgrid_count(); ++n)
    std::fill_n(&s.data[s.index(n, f, {0, 0, 0})], cells_per_subgrid, value);
}

TEST(grouped_flux, has_the_bits_where_all_variables_are_uniform) {
  snapshot s = still_gas();
  ASSERT_EQ(s.data[s.index(3, field::rho, {1, 2, 3})], 2.0);
  for (const auto kind :
       {boundary_kind::periodic, boundary_kind::outflow, boundary_kind::reflecting}) {
    s.boundary = kind;
    expect_the_same(s, scheme_for(s));
  }
  scheme o = scheme_for(s);
  o.quadrature = quadrature_kind::centre;
  expect_the_same(s, o);
  o = scheme_for(s);
  o.omega = 0.3;
  expect_the_same(s, o);
  o = scheme_for(s);
  o.reconstruction = reconstruction_kind::minmod;
  o.error.edge_terms_dropped = true;
  expect_the_same(s, o);
  fill(s, field::egas, 0.0);  // without pressure and sound
  fill(s, field::tau, 0.0);
  expect_the_same(s, scheme_for(s));
}

TEST(grouped_flux, has_the_bits_where_one_cell_of_uniform_gas_has_a_negative_zero) {
  for (int f = field::sx; f <= field::lz; f += next_field)
    for (const triple at : {triple{0, 0, 0}, triple{edge - 1, edge - 1, edge - 1}}) {
      snapshot s = still_gas();
      s.data[s.index(0, f, at)] = -0.0;
      expect_the_same(s, scheme_for(s));
    }
}

TEST(grouped_flux, has_the_bits_where_uniform_gas_moves_spins_or_has_negative_zeros) {
  for (int f = field::sx; f <= field::lz; f += next_field)
    for (const double value : {-0.0, 0.25}) {
      snapshot s = still_gas();
      fill(s, f, value);
      expect_the_same(s, scheme_for(s));
    }
}

TEST(grouped_flux, has_the_bits_where_some_or_all_species_are_absent) {
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
}  // namespace stars::test
