// SPDX-License-Identifier: Apache-2.0
// Common code of the tests of whole runs.
#pragma once

#include <cstdint>

#include <gtest/gtest.h>

#include "common/tests/backends.hpp"
#include "physics/serial.hpp"
#include "simulation.hpp"

namespace jacobi3d {

inline settings small_run() {
  settings s;
  s.grid = {13, 10, 17};
  s.problem = problem_kind::random;
  s.iterations = 6;
  s.warmup = 3;
  s.run_ahead = 2;
  s.progress = false;
  s.runtime = starling::runtime_options::from_environment();
  return s;
}

inline run_result run_it(settings s, unsigned workers) {
  s.runtime.workers = workers;
  complete_settings(s);
  starling::runtime rt(s.runtime);
  run_result r;
  const auto simulated = [](const settings& of, starling::runtime& on,
                            run_result& to) -> starling::task<int> {
    to = co_await simulate(of, on);
    co_return 0;
  };
  EXPECT_EQ(starling::run(rt, simulated(s, rt, r)), 0);
  return r;
}

inline serial_solver solved(const settings& s, long steps) {
  serial_solver serial(problem(s.problem, s.grid, s.seed));
  for (long i = 0; i < steps; ++i) serial.step();
  return serial;
}
inline std::uint64_t serial_checksum(const settings& s) {
  return solved(s, s.warmup + s.iterations).checksum();
}

}  // namespace jacobi3d
