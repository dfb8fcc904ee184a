// SPDX-License-Identifier: Apache-2.0
// Whole runs: every setting gives the serial solver's bits.
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "app_support.hpp"
#include "common/tests/words.hpp"
#include "support/pairwise.hpp"

namespace jacobi2d {
namespace {

run_result run_it(settings s, unsigned workers) {
  s.runtime.workers = workers;
  starling::runtime rt(s.runtime);
  return rt.sync_wait(simulate(s, rt));
}

enum class way { direct, graphs, staged };
std::string name_of(way w) {
  return w == way::direct ? "direct" : w == way::graphs ? "graphs" : "staged";
}

using run_case = std::tuple<const char*, int, int, way>;  // backend, workers, odf

std::string name_of_case(const testing::TestParamInfo<run_case>& p) {
  const auto [backend, workers, odf, how] = p.param;
  return std::string(backend) + "_" + std::to_string(workers) + "_workers_odf_" +
         std::to_string(odf) + "_" + name_of(how);
}

class jacobi2d_run : public testing::TestWithParam<run_case> {
 protected:
  jacobi2d_run() {
    const auto [backend, workers, odf, how] = GetParam();
    s.odf = odf;
    s.graphs = how == way::graphs;
    s.exchange = how == way::staged ? exchange_kind::staged : exchange_kind::direct;
    s.runtime.extra["backend"] = backend;
    this->workers = unsigned(workers);
  }
  void SetUp() override {
    if (const auto why = apps::test::reason_to_skip(s.runtime)) GTEST_SKIP() << *why;
  }
  settings s = small_run();
  unsigned workers = 1;
};
constexpr auto cases = starling_test::pairwise<const char*, int, int, way>;
const std::vector every_way = {way::direct, way::graphs, way::staged};
INSTANTIATE_TEST_SUITE_P(on, jacobi2d_run,
                         testing::ValuesIn(cases({"host"}, {1, 2, 4}, {1, 3, 8}, every_way)),
                         name_of_case);
INSTANTIATE_TEST_SUITE_P(with, jacobi2d_run,
                         testing::ValuesIn(cases({"cuda"}, {1, 4}, {1, 3}, every_way)),
                         name_of_case);

TEST_P(jacobi2d_run, gives_the_bits_of_the_serial_solver) {
  for (const extent grid : {extent{45, 35}, extent{32, 40}, extent{1, 33}}) {
    s.grid = grid;
    const std::uint64_t right = serial_checksum(s);
    for (const bool round_robin : {false, true}) {
      s.round_robin = round_robin;
      const run_result r = run_it(s, workers);
      EXPECT_EQ(r.checksum, right) << grid.x << " x " << grid.y << ", " << round_robin;
      EXPECT_EQ(r.cut.strips, int(workers) * s.odf);
      EXPECT_EQ(r.timed_iterations, s.iterations);
      // Two graphs for each strip, for any number of iterations.
      EXPECT_EQ(r.captures, s.graphs ? 2u * workers * unsigned(s.odf) : 0u);
    }
  }
}

TEST(jacobi2d, runs_in_strips_of_one_row) {
  settings s = small_run();
  s.grid = {50, 12};
  s.odf = 6;
  for (const way how : {way::direct, way::graphs, way::staged}) {
    s.graphs = how == way::graphs;
    s.exchange = how == way::staged ? exchange_kind::staged : exchange_kind::direct;
    EXPECT_EQ(run_it(s, 2).checksum, serial_checksum(s));
  }
}

TEST(jacobi2d, gives_the_same_bits_for_any_lead_of_the_host) {
  settings s = small_run();
  s.odf = 3;
  s.iterations = 40;
  const std::uint64_t right = serial_checksum(s);
  for (const int ahead : {1, 3, 1000}) {
    s.run_ahead = ahead;
    EXPECT_EQ(run_it(s, 2).checksum, right) << ahead;
  }
}

TEST(jacobi2d, ends_when_no_cell_changes) {
  settings s = small_run();
  s.odf = 2;
  for (const exchange_kind how : {exchange_kind::direct, exchange_kind::staged}) {
    s.exchange = how;
    expect_convergence(s, [](const settings& chosen) { return run_it(chosen, 2); });
  }
}

TEST(jacobi2d, reports_too_few_iterations_for_convergence) {
  settings s = small_run();
  s.check_every = 3;
  s.tolerance = 1e-7;
  const run_result r = run_it(s, 2);
  EXPECT_EQ(r.timed_iterations, s.iterations);
  EXPECT_GT(r.last_change, s.tolerance);
}

TEST(jacobi2d, agrees_with_the_analytic_solution_and_detects_a_deviation) {
  settings s = small_run();
  s.problem = problem_kind::mode;
  s.odf = 3;
  const run_result right = run_it(s, 2);
  EXPECT_LE(right.error, problem(s.problem, s.grid).tolerance(right.iterations));
  s.spoilt = true;
  const run_result wrong = run_it(s, 2);
  EXPECT_GT(wrong.error, problem(s.problem, s.grid).tolerance(wrong.iterations));
  EXPECT_NE(wrong.checksum, right.checksum);
}

settings read(const std::vector<std::string>& words) {
  return apps::test::read_words(read_settings, words);
}

TEST(jacobi2d_options, describe_a_run) {
  const settings s = read({"--grid", "100", "60", "--odf", "4", "--exchange", "staged", "--problem",
                           "random", "--round-robin", "--workers", "3", "--backend", "host"});
  EXPECT_EQ(s.grid, (extent{100, 60}));
  EXPECT_EQ(s.odf, 4);
  EXPECT_EQ(s.exchange, exchange_kind::staged);
  EXPECT_EQ(s.problem, problem_kind::random);
  EXPECT_TRUE(s.round_robin);
  EXPECT_EQ(s.runtime.workers, 3u);
  EXPECT_EQ(s.runtime.extra.at("backend"), "host");
  const settings live = read({"--resident", "asynchronous", "--schedulers", "7"});
  EXPECT_EQ(live.resident, resident_kind::asynchronous);
  EXPECT_EQ(live.schedulers, 7);
  EXPECT_EQ(read({}).resident, resident_kind::none);
  EXPECT_EQ(read({}).grid, (extent{8192, 8192}));
  EXPECT_EQ(read({}).iterations, 1000);
}

TEST(jacobi2d_options, are_refused_when_they_are_invalid) {
  using words = std::vector<std::string>;
  for (const words& bad :
       {words{"--grid", "0", "8"}, words{"--grid", "8"}, words{"--grid", "8", "x"},
        words{"--odf", "0"}, words{"--exchange", "pigeon"}, words{"--iterations", "-1"},
        words{"--tolerance", "2"}, words{"--run-ahead", "0"}, words{"--check-every", "0"},
        words{"--fusion", "A"}, words{"--exchange", "staged", "--graphs"},
        words{"--resident", "perhaps"}, words{"--resident", "synchronous", "--graphs"},
        words{"--resident", "asynchronous", "--exchange", "staged"}, words{"--schedulers", "-1"}})
    EXPECT_THROW(static_cast<void>(read(bad)), starling::option_error) << bad[0];
}

TEST(jacobi2d, checks_for_convergence_in_the_last_iteration_at_least) {
  settings s = small_run();
  s.problem = problem_kind::mode;
  s.tolerance = 1e-12;
  s.check_every = 100;
  const run_result r = run_it(s, 2);
  EXPECT_EQ(r.timed_iterations, s.iterations);
  EXPECT_GT(r.last_change, 1e-12);
  EXPECT_LT(r.last_change, 1.0);
}

TEST(jacobi2d, refuses_more_strips_than_rows) {
  settings s = small_run();
  s.grid = {20, 9};
  s.odf = 5;
  EXPECT_THROW(static_cast<void>(run_it(s, 2)), starling::option_error);
}

}  // namespace
}  // namespace jacobi2d
