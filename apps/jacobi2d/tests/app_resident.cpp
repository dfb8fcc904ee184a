// SPDX-License-Identifier: Apache-2.0
// Resident strips give the bits of the serial solver, with barriers and without.
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "app_support.hpp"
#include "resident_simulation.hpp"
#include "support/pairwise.hpp"

namespace jacobi2d {
namespace {

settings small_resident_run() {
  settings s = small_run();
  s.resident = resident_kind::asynchronous;
  s.schedulers = 3;
  s.runtime.workers = 2;
  s.warmup = 3;  // an odd number: timing begins at an odd step
  s.runtime.extra["devices"] = "1";
  return s;
}

run_result run_it(const settings& s) {
  starling::runtime rt(s.runtime);
  return rt.sync_wait(simulate_resident(s, rt));
}

// backend, schedulers, threads of each, odf, synchronisation
using run_case = std::tuple<const char*, int, int, int, resident_kind>;

std::string name_of_case(const testing::TestParamInfo<run_case>& p) {
  const auto [backend, schedulers, threads, odf, waits] = p.param;
  return std::string(backend) + "_" + std::to_string(schedulers) + "_schedulers_of_" +
         std::to_string(threads) + "_odf_" + std::to_string(odf) + "_" + name_of(waits);
}

class jacobi2d_resident : public testing::TestWithParam<run_case> {
 protected:
  jacobi2d_resident() {
    const auto [backend, schedulers, threads, odf, waits] = GetParam();
    s.runtime.extra["backend"] = backend;
    s.schedulers = schedulers;
    s.scheduler_threads = threads;
    s.odf = odf;
    s.resident = waits;
  }
  void SetUp() override {
    if (const auto why = apps::test::reason_to_skip(s.runtime)) GTEST_SKIP() << *why;
  }
  settings s = small_resident_run();
};
constexpr auto cases = starling_test::pairwise<const char*, int, int, int, resident_kind>;
const std::vector both_waits = {resident_kind::synchronous, resident_kind::asynchronous};
INSTANTIATE_TEST_SUITE_P(on, jacobi2d_resident,
                         testing::ValuesIn(cases({"host"}, {1, 2, 5}, {1, 3}, {1, 2, 5},
                                                 both_waits)),
                         name_of_case);
INSTANTIATE_TEST_SUITE_P(with, jacobi2d_resident,
                         testing::ValuesIn(cases({"cuda"}, {1, 7}, {32, 128, 512}, {1, 4},
                                                 both_waits)),
                         name_of_case);

TEST_P(jacobi2d_resident, gives_the_bits_of_the_serial_solver) {
  for (const extent grid : {extent{45, 35}, extent{32, 40}, extent{1, 33}, extent{390, 36}}) {
    s.grid = grid;
    for (const bool round_robin : {false, true}) {
      s.round_robin = round_robin;
      const run_result r = run_it(s);
      EXPECT_EQ(r.checksum, serial_checksum(s)) << grid.x << " x " << grid.y << ", " << round_robin;
      EXPECT_EQ(r.timed_iterations, s.iterations);
      EXPECT_EQ(r.cut.strips, s.schedulers * s.odf);
    }
  }
}

/// Runs more steps than a strip computes at once.
TEST(jacobi2d_resident, runs_many_steps) {
  settings s = small_resident_run();
  s.iterations = 2000;
  for (const auto& [rows, schedulers, odf] : {std::tuple(12, 3, 4), {12, 1, 1}, {60, 2, 1}}) {
    s.grid = {50, rows};
    s.schedulers = schedulers;
    s.odf = odf;
    EXPECT_EQ(run_it(s).checksum, serial_checksum(s)) << rows << ", " << schedulers << ", " << odf;
  }
}

TEST(jacobi2d_resident, runs_many_steps_by_groups_of_threads) {
  settings s = small_resident_run();
  s.runtime.extra["backend"] = "host";
  s.scheduler_threads = 3;
  s.grid = {50, 30};
  s.iterations = 500;
  for (const int devices : {1, 2}) {
    s.runtime.extra["devices"] = std::to_string(devices);
    s.schedulers = 2 / devices;
    EXPECT_EQ(run_it(s).checksum, serial_checksum(s)) << devices;
  }
}

/// Rows for another device are copied by all threads; rows for the same device are lent by one
/// thread.
TEST(jacobi2d_resident, gives_the_serial_bits_with_neighbours_on_other_devices) {
  settings s = small_resident_run();
  s.runtime.extra["backend"] = "host";  // supports groups of any size
  s.runtime.extra["devices"] = "2";
  s.schedulers = 2;
  for (const auto waits : {resident_kind::synchronous, resident_kind::asynchronous})
    for (const int threads : {1, 3})
      for (const int odf : {1, 2})
        for (const int rows : {1, 2, 7}) {
          s.resident = waits;
          s.scheduler_threads = threads;
          s.odf = odf;
          s.grid = {50, 4 * odf * rows};
          const run_result r = run_it(s);
          EXPECT_EQ(r.checksum, serial_checksum(s))
              << threads << " threads, odf " << odf << ", strips of " << rows;
          EXPECT_EQ(r.cut.strips, 4 * odf);
        }
}

TEST(jacobi2d_resident, runs_the_given_number_of_steps) {
  for (const int warmup : {0, 1, 2})
    for (const int iterations : {1, 2, 3})
      for (const extent grid : {extent{40, 12}, extent{40, 30}}) {
        settings s = small_resident_run();
        s.grid = grid;
        s.odf = 4;
        s.warmup = warmup;
        s.iterations = iterations;
        EXPECT_EQ(run_it(s).checksum, serial_checksum(s)) << warmup << " and " << iterations;
      }
}

TEST(jacobi2d_resident, ends_when_no_cell_changes) {
  settings s = small_resident_run();
  s.schedulers = 2;
  for (const auto waits : {resident_kind::synchronous, resident_kind::asynchronous}) {
    s.resident = waits;
    expect_convergence(s, run_it);
  }
}

TEST(jacobi2d_resident, computes_the_error_of_a_correct_and_a_damaged_answer) {
  settings s = small_resident_run();
  s.problem = problem_kind::mode;
  EXPECT_LE(run_it(s).error, problem(s.problem, s.grid).tolerance(s.warmup + s.iterations));
  s.spoilt = true;
  EXPECT_GT(run_it(s).error, 1e-3);
}

TEST(jacobi2d_resident, refuses_more_strips_than_rows_or_schedulers_allow) {
  settings s = small_resident_run();
  s.odf = 33;
  EXPECT_THROW(run_it(s), starling::option_error);
  s.odf = 20;  // more strips than rows
  EXPECT_THROW(run_it(s), starling::option_error);
}

}  // namespace
}  // namespace jacobi2d
