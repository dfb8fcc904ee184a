// SPDX-License-Identifier: Apache-2.0
/// \file
/// Common code of the tests of transfers between levels.
#pragma once

#include <algorithm>
#include <limits>

#include "kernel/loop.hpp"
#include "tests/physics_support.hpp"
#include "transfer/prolongation.hpp"
#include "transfer/restriction.hpp"

namespace stars::test {

/// Returns the distance from |x| to the next larger number.
inline double ulp(double x) {
  const double size = std::fabs(x);
  return std::nextafter(size, std::numeric_limits<double>::infinity()) - size;
}

/// Returns a number of random size between 1e-20 and 1e20.
inline double wild(generator& random) { return std::pow(10.0, 40.0 * random() - 20.0); }

/// Calls f(u, r) for all cells: u(k) is field k, r the centre.
template <class F>
void for_each_cell(snapshot& s, F f) {
  for (int n = 0; n < s.grid.subgrid_count(); ++n) {
    const triple p = place_of(n);
    for (int k = 0; k < cells_per_subgrid; ++k) {
      const triple c{k % edge, k / edge % edge, k / (edge * edge)};
      const std::array<double, 3> r = {s.grid.centre(p.x * edge + c.x),
                                       s.grid.centre(p.y * edge + c.y),
                                       s.grid.centre(p.z * edge + c.z)};
      f([&](int field) -> double& { return s.data[s.index(n, field, c)]; }, r);
    }
  }
}

inline std::array<double, 3> cross(const std::array<double, 3>& a, const std::array<double, 3>& b) {
  return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}

/// Returns a state with values of very different sizes. rho is the sum of the species, and egas
/// need not be larger than the kinetic energy.
inline snapshot wild_state(boundary_kind boundary, std::uint64_t seed) {
  snapshot s = make_linear_wave(1);
  s.boundary = boundary;
  generator random(seed);
  for_each_cell(s, [&](auto u, const auto&) {
    double sum = 0.0;
    for (int f = field_count - 1; f >= 0; --f) {
      const bool positive = f < field::pot || f >= field::species;
      const double sign = positive || random() < 0.5 ? 1.0 : -1.0;
      u(f) = f == field::rho ? sum : sign * wild(random);
      if (f >= field::species) sum += u(f);
    }
  });
  return s;
}

/// Returns a state with a front along a diagonal of the cells: nearly nothing on one side of a
/// cell, much on the other one, in the fields that must stay positive.
inline snapshot steep_state(boundary_kind boundary, std::uint64_t seed) {
  snapshot s = turbulent(1, boundary, seed);
  generator random(seed);
  const double front = 0.5 * s.grid.dx();  // the sum of the coordinates of centres on the front
  for_each_cell(s, [&](auto u, const auto& r) {
    const double sum = r[0] + r[1] + r[2];
    const auto value = [&] {
      return sum < 0.9 * front ? 1e-20 * (0.1 + random())
                               : (sum < 1.1 * front ? 1.0 : 10.0) + random();
    };
    u(field::rho) = 0.0;
    for (const int f : {int{field::egas}, int{field::tau}}) u(f) = value();
    for (int f = field::species; f < field_count; ++f) u(field::rho) += u(f) = value();
  });
  return s;
}

/// A uniform level in slots 0 … count - 1, and all its octants as sub-grids of the next level in
/// the slots behind them, which hold NaN at first.
struct two_levels {
  snapshot coarse;
  part_plan tables;
  std::vector<double> state;
  std::vector<level_link> links;
  static constexpr int lanes = static_cast<int>(host_vector::size());

  explicit two_levels(const snapshot& s) : coarse(s), tables(tables_of(s)), state(s.data) {
    const int count = s.grid.subgrid_count();
    state.resize(std::size_t(9 * count) * compact.block, std::nan(""));
    for (int n = 0; n < octant_count * count; ++n) {
      links.push_back({n / octant_count, count + n, n % octant_count, octant_set::all()});
    }
  }
  /// The kernel, for single indices or for vectors.
  prolongation kernel(double theta, bool vectors) {
    return {state.data(),
            state.data(),
            tables.frames.data(),
            tables.sources.data(),
            links.data(),
            static_cast<int>(links.size()),
            theta,
            vectors ? lanes : 0};
  }
  void prolong(double theta = theta_of_ghosts, bool vectors = true) {
    run_loop(kernel(theta, vectors), vectors);
  }
  void restrict_all() {
    run_loop(restriction{state.data(), state.data(), links.data(), static_cast<int>(links.size())});
  }
  double parent(const level_link& link, int k, int f) const {
    const triple c = coarse_cell(link.octant, k);
    return state[static_cast<std::size_t>(compact_at(link.coarse, f, c.x, c.y, c.z))];
  }
  double child(const level_link& link, int k, int c, int f) const {
    const triple p = child_cell(k, c);
    return state[static_cast<std::size_t>(compact_at(link.fine, f, p.x, p.y, p.z))];
  }
  /// Returns the coordinates of the centre of a child, by the frame of its own level.
  std::array<double, 3> position(const level_link& link, int k, int c) const {
    const mesh fine{coarse.grid.level() + 1, coarse.grid.xscale()};
    const triple p = place_of(link.coarse), o = place_of(link.octant), i = child_cell(k, c);
    return {fine.centre((2 * p.x + o.x) * edge + i.x), fine.centre((2 * p.y + o.y) * edge + i.y),
            fine.centre((2 * p.z + o.z) * edge + i.z)};
  }
  /// Returns whether a coarse cell touches the boundary of the domain.
  bool at_boundary(const level_link& link, int k) const {
    const triple p = place_of(link.coarse), c = coarse_cell(link.octant, k);
    for (int a = 0; a < 3; ++a) {
      const int at = p[a] * edge + c[a];
      if (at == 0 || at == coarse.grid.cells_per_edge() - 1) return true;
    }
    return false;
  }
  /// Calls f(link, cell of the octant) for all coarse cells.
  template <class F>
  void for_cells(F f) const {
    for (const level_link& link : links) {
      for (int k = 0; k < cells_per_octant; ++k) f(link, k);
    }
  }
};

/// Returns the cells k of an octant for which needed(k) holds.
template <class F>
octant_set cells_where(F needed) {
  octant_set cells;
  for (int k = 0; k < cells_per_octant; ++k)
    if (needed(k)) cells.add(k);
  return cells;
}
/// Returns some cells, other ones for each of seven links: the first, the last and a few more.
inline octant_set some_cells(std::size_t link) {
  return cells_where([&](int k) {
    return k % 63 == 0 || k % cells_per_octant == int(10 + link % 7) || k % 37 == int(5 + link % 7);
  });
}

inline constexpr boundary_kind boundaries[] = {boundary_kind::outflow, boundary_kind::reflecting,
                                               boundary_kind::periodic};

}  // namespace stars::test
