// SPDX-License-Identifier: Apache-2.0
#include "problems/problems.hpp"

#include <cmath>
#include <numbers>
#include <stdexcept>

#include "kernel/power.hpp"

namespace stars {
namespace {

void require(bool good, const std::string& what) {
  if (!good) throw std::invalid_argument(what);
}

snapshot empty(const char* name, int level, double xscale, double gamma, boundary_kind boundary) {
  require(level >= 0 && level <= max_level, "level must be 0 to " + std::to_string(max_level));
  require(xscale > 0.0 && std::isfinite(xscale), "xscale must be positive");
  require(gamma > 1.0 && gamma < 10.0, "gamma must be above 1 and below 10");
  snapshot s;
  s.grid = {level, xscale};
  s.gamma = gamma;
  s.problem = name;
  s.boundary = boundary;
  s.data.assign(snapshot::size_of(s.grid), 0.0);
  return s;
}

struct gas_state {
  double rho, pressure;
  double v[3] = {0.0, 0.0, 0.0};
  int species = 0;
};

/// Fills every cell with `state(x, y, z)` at its centre; the spin is zero.
template <class State>
void fill(snapshot& s, State state) {
  for (int n = 0; n < s.grid.subgrid_count(); ++n) {
    const triple p = mesh::place(n);
    for (int k = 0; k < cells_per_subgrid; ++k) {
      const triple c{k % edge, k / edge % edge, k / (edge * edge)};
      const double r[3] = {s.grid.centre(p.x * edge + c.x), s.grid.centre(p.y * edge + c.y),
                           s.grid.centre(p.z * edge + c.z)};
      const gas_state g = state(r[0], r[1], r[2]);
      const double e = g.pressure / (s.gamma - 1.0);
      const auto put = [&](int f, double v) { s.data[s.index(n, f, c)] = v; };
      put(field::rho, g.rho);
      put(field::egas, e + 0.5 * g.rho * ((g.v[0] * g.v[0] + g.v[1] * g.v[1]) + g.v[2] * g.v[2]));
      put(field::tau, power(e, 1.0 / s.gamma));
      for (int a = 0; a < 3; ++a) {
        const int b = (a + 1) % 3, d = (a + 2) % 3;
        put(field::sx + a, g.rho * g.v[a]);
        put(field::lx + a, g.rho * (r[b] * g.v[d] - r[d] * g.v[b]));
      }
      put(field::species + g.species, g.rho);
    }
  }
}

}  // namespace

snapshot make_sod(int level, const sod_options& o) {
  snapshot s = empty("sod", level, o.xscale, o.gamma, boundary_kind::outflow);
  const auto component = [](double v) { return std::abs(v) < 1e-15 ? 0.0 : v; };
  const double polar = o.polar * std::numbers::pi / 180.0;
  const double azimuth = o.azimuth * std::numbers::pi / 180.0;
  const double nx = component(std::sin(polar) * std::cos(azimuth));
  const double ny = component(std::sin(polar) * std::sin(azimuth));
  const double nz = component(std::cos(polar));
  fill(s, [&](double x, double y, double z) {
    const bool left = nx * x + ny * y + nz * z < 0.0;
    return left ? gas_state{1.0, 1.0, {}, 0} : gas_state{0.125, 0.1, {}, 1};
  });
  return s;
}

snapshot make_blast(int level, const blast_options& o) {
  require(o.energy > 0.0 && std::isfinite(o.energy), "energy must be positive");
  require(o.ambient > 0.0 && std::isfinite(o.ambient), "ambient energy must be positive");
  require(o.radius >= 0.0 && std::isfinite(o.radius), "radius must not be negative");
  snapshot s = empty("blast", level, o.xscale, o.gamma, o.boundary);
  const double radius = o.radius > 0.0 ? o.radius : default_radius(s.grid);
  const auto inside = [radius](double x, double y, double z) {
    return (x * x + y * y) + z * z < radius * radius;
  };
  long cells = 0;
  const int n = s.grid.cells_per_edge();
  for (int k = 0; k < n; ++k) {
    for (int j = 0; j < n; ++j) {
      for (int i = 0; i < n; ++i) {
        cells += inside(s.grid.centre(i), s.grid.centre(j), s.grid.centre(k));
      }
    }
  }
  require(cells > 0, "radius holds no cell centre at this level");
  const double density = o.energy / (static_cast<double>(cells) * s.grid.cell_volume());
  fill(s, [&](double x, double y, double z) {
    const double e = inside(x, y, z) ? density : o.ambient;
    return gas_state{1.0, (o.gamma - 1.0) * e, {}, 0};
  });
  return s;
}

snapshot make_linear_wave(int level, const wave_options& o) {
  require(o.axis >= 0 && o.axis < 3, "axis must be 0, 1 or 2");
  require(std::abs(o.amplitude) < 0.5, "amplitude must be below 0.5");
  snapshot s = empty("linear-wave", level, o.xscale, o.gamma, boundary_kind::periodic);
  const double k = std::numbers::pi / o.xscale;
  // The mean of sin(k x) over a cell is sin(k x) sin(k dx/2) / (k dx/2).
  const double half = 0.5 * k * s.grid.dx();
  const double mean = std::sin(half) / half;
  fill(s, [&](double x, double y, double z) {
    const double r = o.axis == 0 ? x : o.axis == 1 ? y : z;
    const double d = o.amplitude * mean * std::sin(k * r);
    gas_state g{1.0 + d, 1.0 / o.gamma + d, {}, 0};
    g.v[o.axis] = d;
    return g;
  });
  return s;
}

}  // namespace stars
