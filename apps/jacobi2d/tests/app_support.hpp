// SPDX-License-Identifier: Apache-2.0
// Common code of the tests of runs, with host strips and resident strips.
#pragma once

#include <gtest/gtest.h>

#include "common/tests/backends.hpp"
#include "physics/serial.hpp"
#include "simulation.hpp"

namespace jacobi2d {

inline settings small_run() {
  settings s;
  s.grid = {45, 35};
  s.problem = problem_kind::random;
  s.iterations = 9;
  s.warmup = 4;
  s.run_ahead = 2;
  s.progress = false;
  s.runtime = starling::runtime_options::from_environment();
  return s;
}

inline serial_solver solved(const settings& s, long steps) {
  serial_solver serial(problem(s.problem, s.grid, s.seed));
  for (long i = 0; i < steps; ++i) serial.step();
  return serial;
}
inline std::uint64_t serial_checksum(const settings& s) {
  return solved(s, s.warmup + s.iterations).checksum();
}

/// Expects that `run(settings)` converges on a grid small enough for it.
template <class Run>
void expect_convergence(settings s, Run run) {
  s.grid = {6, 5};
  s.problem = problem_kind::mode;
  s.warmup = 0;
  s.iterations = 1000;
  s.check_every = 7;
  s.tolerance = 1e-5;
  const run_result r = run(s);
  EXPECT_LT(r.iterations, 200);
  EXPECT_EQ(r.iterations % 7, 0);
  EXPECT_LE(r.last_change, 1e-5);
  const serial_solver serial = solved(s, r.iterations);
  EXPECT_EQ(serial.change(), r.last_change);
  EXPECT_EQ(serial.checksum(), r.checksum);
}

}  // namespace jacobi2d
