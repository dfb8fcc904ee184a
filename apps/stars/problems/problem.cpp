// SPDX-License-Identifier: Apache-2.0
#include "problems/problem.hpp"

#include <cmath>
#include <utility>

#include "kernel/power.hpp"
#include "mesh/layout.hpp"
#include "problems/require.hpp"

namespace stars {

problem::problem(std::string called, double adiabatic, double half_width, boundary_kind beyond)
    : name(std::move(called)), gamma(adiabatic), xscale(half_width), boundary(beyond) {
  require(xscale > 0.0 && std::isfinite(xscale), "xscale must be positive");
  require(gamma > 1.0 && gamma < 10.0, "gamma must be above 1 and below 10");
}

namespace {

void centre_of(const subgrid_frame& at, int cell, double (&r)[3]) {
  const int c[3] = {cell % edge, cell / edge % edge, cell / (edge * edge)};
  for (int a = 0; a < 3; ++a) r[a] = (2 * c[a] + 1 + at.lower[a]) * at.half_dx;
}

}  // namespace

void fill_subgrid(const problem& flow, const subgrid_frame& at, double* data) {
  for (int k = 0; k < cells_per_subgrid; ++k) {
    double r[3];
    centre_of(at, k, r);
    const gas_state g = flow.gas(r, at.dx());
    const double e = g.pressure / (flow.gamma - 1.0);
    const auto put = [&](int f, double v) { data[f * cells_per_subgrid + k] = v; };
    for (int f = 0; f < field_count; ++f) put(f, 0.0);
    put(field::rho, g.rho);
    put(field::egas, e + 0.5 * g.rho * ((g.v[0] * g.v[0] + g.v[1] * g.v[1]) + g.v[2] * g.v[2]));
    put(field::tau, power(e, 1.0 / flow.gamma));
    for (int a = 0; a < 3; ++a) {
      const int b = (a + 1) % 3, d = (a + 2) % 3;
      put(field::sx + a, g.rho * g.v[a]);
      put(field::lx + a, g.rho * (r[b] * g.v[d] - r[d] * g.v[b]));
    }
    put(field::species + g.species, g.rho);
  }
}

snapshot initial_header(const problem& flow, octree tree) {
  snapshot s;
  s.grid = {std::move(tree), flow.xscale};
  s.gamma = flow.gamma;
  s.problem = flow.name;
  s.boundary = flow.boundary;
  return s;
}

std::vector<double> initial_data(const problem& flow, const mesh& grid, int first, int count) {
  std::vector<double> data(std::size_t(count) * compact.block);
  for (int k = 0; k < count; ++k)
    fill_subgrid(flow, grid.frame_of(first + k, flow.boundary),
                 &data[std::size_t(k) * compact.block]);
  return data;
}

snapshot initial_state(const problem& flow, octree tree) {
  snapshot s = initial_header(flow, std::move(tree));
  s.data = initial_data(flow, s.grid, 0, s.grid.subgrid_count());
  return s;
}

snapshot initial_state(const problem& flow, int level) {
  require(level >= 0 && level <= max_level, "level must be 0 to " + std::to_string(max_level));
  return initial_state(flow, octree::uniform(level));
}

void density_error_sum::add(const problem& flow, const snapshot& own, int first) {
  const int count = int(own.data.size() / compact.block);
  for (int n = 0; n < count && is_exact; ++n) {
    const subgrid_frame at = own.grid.frame_of(first + n, own.boundary);
    const double cell_volume = at.dx() * at.dx() * at.dx();
    const double* rho = &own.data[own.index(n, field::rho, {})];
    double of_leaf = 0.0;
    for (int k = 0; k < cells_per_subgrid; ++k) {
      double r[3];
      centre_of(at, k, r);
      const std::optional<gas_state> exact = flow.exact(r, at.dx(), own.time);
      if (!exact) {
        is_exact = false;
        return;
      }
      of_leaf += std::abs(rho[k] - exact->rho);
    }
    sum += of_leaf * cell_volume;
    volume += cells_per_subgrid * cell_volume;
  }
}

std::optional<double> density_error(const problem& flow, const snapshot& state) {
  density_error_sum error;
  error.add(flow, state, 0);
  return error.value();
}

}  // namespace stars
