// SPDX-License-Identifier: Apache-2.0
// Initial states of successful and failing runs, and the serial driver's results.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <utility>
#include <vector>

#include <starling/core.hpp>

#include "driver/part.hpp"
#include "placement/serial.hpp"
#include "placement/simulation.hpp"
#include "problems/problems.hpp"
#include "tests/mesh_support.hpp"
#include "tests/scratch_directory.hpp"

namespace stars::test {

inline constexpr double no_limit = std::numeric_limits<double>::infinity();

inline snapshot serial(const snapshot& first, const scheme& s, int steps) {
  serial_driver driver(first, s);
  for (int i = 0; i < steps; ++i) driver.advance();
  return driver.state();
}

inline starling::task<snapshot> advance(part_simulation& sim, int steps) {
  for (int i = 0; i < steps; ++i) co_await sim.step(no_limit);
  co_await sim.finish();
  co_return co_await sim.gather();
}

inline void expect_same_bits(const snapshot& a, const snapshot& b) {
  ASSERT_EQ(a.data.size(), b.data.size());
  EXPECT_EQ(std::memcmp(a.data.data(), b.data.data(), a.data.size() * sizeof(double)), 0);
  EXPECT_EQ(a.time, b.time);
  EXPECT_EQ(a.step, b.step);
  for (std::size_t f = 0; f < field_count; ++f) EXPECT_EQ(a.outflow[f], b.outflow[f]) << f;
}

/// Begins a run across ranks, or ends it, with a state that the caller chooses or gets: by restart
/// files in a folder.
struct by_files {
  scratch_directory folder;

  /// As the function of the driver, for any state.
  starling::task<std::unique_ptr<adaptive_simulation>> make_across_ranks(starling::runtime& rt,
                                                                         const snapshot& first,
                                                                         settings s) {
    const std::filesystem::path file = folder / "first.h5";
    write_restart(file, {first, {}});
    s.restart_from = file.string();
    const beginning header{read_restart_header(file).state};
    co_return co_await stars::make_across_ranks(rt, header, s);
  }
  /// Returns the present state of a simulation.
  starling::task<snapshot> gather(adaptive_simulation& sim) {
    const std::filesystem::path file = folder / "now.h5";
    co_await sim.write_restart(file, {});
    co_return read_restart(file).state;
  }
};

/// Returns the exception that `action` throws.
template <class Action>
unphysical_state failure(Action action) {
  try {
    action();
  } catch (const unphysical_state& error) {
    return error;
  }
  throw std::logic_error("no unphysical state was met");
}

/// The octants of the domain fly apart. In the seventh step the gas between them is gone, in a cell
/// of each sub-grid at once. A run of ten steps fails.
inline snapshot rarefied() {
  constexpr double speed = 3.65;  // at speed 2 the run fails in step 37, at speed 3.8 in step 1
  snapshot s = make_blast(1);
  for (int n = 0; n < s.grid.subgrid_count(); ++n)
    for (int k = 0; k < cells_per_subgrid; ++k) {
      const triple c{k % edge, k / edge % edge, k / (edge * edge)};
      const auto put = [&](int f, double v) { s.data[s.index(n, f, c)] = v; };
      put(field::egas, 1.0 + 1.5 * speed * speed);
      put(field::tau, 1.0);
      for (int a = 0; a < 3; ++a)
        put(field::sx + a, s.grid.tree().key(n).place[a] == 0 ? -speed : speed);
    }
  return s;
}

/// Gas with a smooth bulge that moves obliquely.
class bulge final : public problem {
 public:
  explicit bulge(boundary_kind kind) : problem("bulge", 1.4, 1.0, kind) {}
  [[nodiscard]] gas_state gas(const double (&r)[3], double) const override {
    const double d = (r[0] - 0.2) * (r[0] - 0.2) + r[1] * r[1] + (r[2] + 0.1) * (r[2] + 0.1);
    return {1.0 + std::exp(-8.0 * d), 1.0 + std::exp(-20.0 * d), {0.6, 0.3, -0.4}, d < 0.1 ? 1 : 0};
  }
};

inline constexpr tree_case refined_cases[] = {
    {1, boundary_kind::outflow}, {12, boundary_kind::reflecting}, {12, boundary_kind::periodic}};

/// Returns such a gas on a random tree with leaves on several levels.
inline snapshot on_levels(boundary_kind boundary, std::uint64_t seed) {
  return initial_state(bulge(boundary), random_tree(seed, boundary, 3));
}

/// Returns such states, and the serial driver's after two steps, which it computes once.
inline const std::vector<std::pair<snapshot, snapshot>>& runs_on_levels() {
  static const auto made = [] {
    std::vector<std::pair<snapshot, snapshot>> all;
    for (const tree_case& c : refined_cases) {
      const snapshot first = on_levels(c.boundary, c.seed);
      all.emplace_back(first, serial(first, scheme_for(first), 2));
    }
    return all;
  }();
  return made;
}

/// The end of the serial driver's run: the fault and the state in which it was found.
struct serial_end {
  unphysical_state fault;
  snapshot state;
};
inline serial_end serial_failure(const snapshot& first, const scheme& s, int steps) {
  serial_driver driver(first, s);
  const unphysical_state fault = failure([&] {
    for (int i = 0; i < steps; ++i) driver.advance();
  });
  return {fault, driver.state()};
}

/// An inconsistent, violent state. The place of its fault depends on the seed.
inline snapshot violent(std::uint64_t seed) {
  snapshot s = make_blast(1);
  std::uint64_t state = seed * 77777 + 12345;
  const auto random = [&state] {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<double>(state >> 11) * 0x1p-53;
  };
  for (int n = 0; n < s.grid.subgrid_count(); ++n)
    for (int k = 0; k < cells_per_subgrid; ++k) {
      const triple c{k % edge, k / edge % edge, k / (edge * edge)};
      const auto put = [&](int f, double v) { s.data[s.index(n, f, c)] = v; };
      const double rho = 0.02 + random();
      put(field::rho, rho);
      put(field::species, rho);
      double kinetic = 0.0;
      for (int a = 0; a < 3; ++a) {
        const double momentum = rho * 6 * (random() - 0.5);
        put(field::sx + a, momentum);
        kinetic += 0.5 * momentum * momentum / rho;
      }
      const double thermal = 0.1 + random();
      put(field::egas, thermal + kinetic);
      put(field::tau, std::pow(thermal, 1 / 1.4));
    }
  return s;
}

}  // namespace stars::test
