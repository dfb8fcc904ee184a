// SPDX-License-Identifier: Apache-2.0
/// \file
/// Common code of the physics tests.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "kernel/loop.hpp"
#include "placement/serial.hpp"
#include "problems/problems.hpp"
#include "transfer/ghosts.hpp"

namespace stars::test {

/// A vector with this number of lanes, on any processor.
template <int Width>
using vector_of = std::experimental::fixed_size_simd<double, Width>;

/// A generator of uniform numbers in [0, 1) from a fixed seed.
class generator {
 public:
  explicit generator(std::uint64_t seed) : m_state(seed) {}
  double operator()() {
    m_state = m_state * 6364136223846793005ull + 1442695040888963407ull;
    return static_cast<double>(m_state >> 11) * 0x1p-53;
  }

 private:
  std::uint64_t m_state;
};

inline scheme scheme_for(const snapshot& s) {
  scheme o;
  o.gamma = s.gamma;
  return o;
}

/// Return the position with a number in Z-order, and the number of a position.
inline triple place_of(int z_number) {
  return node_key::at(max_level, static_cast<std::uint64_t>(z_number)).place;
}
inline int number_of(triple place) {
  return static_cast<int>(node_key{max_level, place}.z_number());
}

/// Returns the tables of the whole domain.
inline part_plan tables_of(const snapshot& s) { return plan_whole(s); }

/// Returns the kernel for the ghosts of all sub-grids.
inline ghost_fill ghosts_of_all(const snapshot& s, const part_plan& at, double* to, int sweep = 0) {
  return {s.data.data(), to,   at.frames.data(), at.sources.data(), 0, s.grid.subgrid_count(),
          false,         sweep};
}

inline bool same_bits(const std::vector<double>& a, const std::vector<double>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0;
}

/// Returns a smooth random state with motion, spin and five species, periodic or bounded.
inline snapshot turbulent(int level, boundary_kind boundary, std::uint64_t seed) {
  snapshot s = make_linear_wave(level);
  s.boundary = boundary;
  generator random(seed);
  for (int n = 0; n < s.grid.subgrid_count(); ++n) {
    for (int k = 0; k < cells_per_subgrid; ++k) {
      const triple c{k % edge, k / edge % edge, k / (edge * edge)};
      const auto value = [&](int f) -> double& { return s.data[s.index(n, f, c)]; };
      double rho = 0.0;
      for (int i = 0; i < species_count; ++i) {
        value(field::species + i) = 0.05 + 0.3 * random();
        rho += value(field::species + i);
      }
      double kinetic = 0.0;
      for (int a = 0; a < 3; ++a) {
        value(field::sx + a) = rho * (random() - 0.5);
        value(field::lx + a) = 0.1 * (random() - 0.5);
        kinetic += 0.5 * value(field::sx + a) * value(field::sx + a) / rho;
      }
      const double e = 0.5 + random();
      value(field::rho) = rho;
      value(field::egas) = e + kinetic;
      value(field::tau) = std::pow(e, 1.0 / s.gamma);
      value(field::pot) = 0.1 * rho;
    }
  }
  return s;
}

/// Returns the integral of a field over the domain, in extended precision.
inline long double total(const snapshot& s, int f) {
  long double sum = 0.0;
  for (int n = 0; n < s.grid.subgrid_count(); ++n) {
    const long double dx = s.grid.frame_of(n, s.boundary).dx();
    long double own = 0.0;
    for (int k = 0; k < cells_per_subgrid; ++k) {
      own += s.data[s.index(n, f, {k % edge, k / edge % edge, k / (edge * edge)})];
    }
    sum += own * dx * dx * dx;
  }
  return sum;
}

inline double relative_drift(const snapshot& before, const snapshot& after, int f) {
  const long double a = total(before, f) + before.outflow[static_cast<std::size_t>(f)];
  const long double b = total(after, f) + after.outflow[static_cast<std::size_t>(f)];
  return static_cast<double>(std::fabs((b - a) / a));
}

/// Returns the largest relative difference of the density between a cell and its images under the
/// generators of the cube's symmetry group.
inline double asymmetry(const snapshot& s) {
  const int n = s.grid.cells_per_edge();
  double worst = 0.0;
  for (int z = 0; z < n; ++z) {
    for (int y = 0; y < n; ++y) {
      for (int x = 0; x < n; ++x) {
        const double a = s.at(field::rho, {x, y, z});
        for (const triple g : {triple{n - 1 - x, y, z}, triple{y, x, z}, triple{x, z, y}}) {
          worst = std::fmax(worst, std::fabs(a - s.at(field::rho, g)) / a);
        }
      }
    }
  }
  return worst;
}

inline snapshot run_until(const snapshot& s, const scheme& o, double stop) {
  serial_driver driver(s, o);
  while (driver.state().time < stop) driver.advance(stop);
  return driver.state();
}

inline snapshot run_steps(const snapshot& s, const scheme& o, int steps,
                          loop_kind loops = loop_kind::vectors) {
  serial_driver driver(s, o, loops);
  for (int i = 0; i < steps; ++i) driver.advance();
  return driver.state();
}

/// Does a block of Octo-Tiger's steps: at most five, none longer than an equal share of the time
/// that remains. Between blocks it changes the mesh.
inline snapshot run_block(const snapshot& s, const scheme& o, double stop) {
  serial_driver driver(s, o);
  for (int left = 5; left > 0 && driver.state().time < stop; --left) {
    const double now = driver.state().time;
    driver.advance(left == 1 ? stop : now + (stop - now) / left);
  }
  return driver.state();
}

}  // namespace stars::test
