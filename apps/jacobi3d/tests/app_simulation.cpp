// SPDX-License-Identifier: Apache-2.0
// Whole runs: every setting gives the serial solver's bits.
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "app_support.hpp"
#include "common/tests/words.hpp"
#include "support/pairwise.hpp"
#include "support/scratch_folder.hpp"

namespace jacobi3d {
namespace {

/// Backend, workers, blocks for each worker, and whether the streams belong to the device.
using run_case = std::tuple<const char*, int, int, bool>;

std::string name_of_case(const testing::TestParamInfo<run_case>& p) {
  const auto [backend, workers, odf, shared] = p.param;
  return std::string(backend) + "_" + std::to_string(workers) + "_workers_odf_" +
         std::to_string(odf) + (shared ? "_shared_streams" : "");
}

class jacobi3d_run : public testing::TestWithParam<run_case> {
 protected:
  jacobi3d_run() {
    const auto [backend, workers, odf, shared] = GetParam();
    s.odf = odf;
    s.streams = shared ? stream_owner::device : stream_owner::block;
    s.runtime.extra["backend"] = backend;
    this->workers = unsigned(workers);
  }
  void SetUp() override {
    if (const auto why = apps::test::reason_to_skip(s.runtime)) GTEST_SKIP() << *why;
  }
  settings s = small_run();
  const std::uint64_t right = serial_checksum(s);
  unsigned workers = 1;
};
constexpr auto cases = starling_test::pairwise<const char*, int, int, bool>;
INSTANTIATE_TEST_SUITE_P(on, jacobi3d_run,
                         testing::ValuesIn(cases({"host"}, {1, 2, 4}, {1, 3, 8}, {false, true})),
                         name_of_case);
INSTANTIATE_TEST_SUITE_P(with, jacobi3d_run,
                         testing::ValuesIn(cases({"cuda"}, {1, 4}, {1, 3}, {false, true})),
                         name_of_case);

INSTANTIATE_TEST_SUITE_P(through, jacobi3d_run,
                         testing::Values(run_case{"sycl", 2, 3, false},
                                         run_case{"kokkos", 2, 3, false}),
                         name_of_case);

TEST_P(jacobi3d_run, with_direct_exchange_gives_the_bits_of_the_serial_solver) {
  for (const auto fusion : {fusion_kind::none, fusion_kind::a, fusion_kind::b, fusion_kind::c})
    for (const bool graphs : {false, true})
      for (const bool round_robin : {false, true}) {
        s.fusion = fusion;
        s.graphs = graphs;
        s.round_robin = round_robin;
        const run_result r = run_it(s, workers);
        EXPECT_EQ(r.checksum, right) << name_of(fusion) << (graphs ? ", graphs" : "")
                                     << (round_robin ? ", round robin" : "");
        EXPECT_EQ(r.cut.count(), int(workers) * s.odf);
        EXPECT_EQ(r.timed_iterations, s.iterations);
        // Two graphs for each block, for any number of iterations.
        EXPECT_EQ(r.captures, graphs ? 2u * workers * unsigned(s.odf) : 0u);
      }
}

TEST_P(jacobi3d_run, with_staged_exchange_gives_the_same_bits_for_each_way_of_waiting) {
  s.exchange = exchange_kind::staged;
  for (const auto wait : {wait_kind::synchronous, wait_kind::polling, wait_kind::work_request,
                          wait_kind::asynchronous}) {
    s.wait = wait;
    EXPECT_EQ(run_it(s, workers).checksum, right) << name_of(wait);
  }
}

TEST_P(jacobi3d_run, with_the_interior_ahead_of_the_faces_gives_the_same_bits) {
  s.overlap = true;
  for (const auto fusion : {fusion_kind::none, fusion_kind::a, fusion_kind::b}) {
    s.fusion = fusion;
    for (const bool round_robin : {false, true}) {
      s.round_robin = round_robin;
      EXPECT_EQ(run_it(s, workers).checksum, right) << name_of(fusion);
    }
  }
  s.fusion = fusion_kind::none;
  s.exchange = exchange_kind::staged;
  for (const auto wait : {wait_kind::synchronous, wait_kind::polling, wait_kind::work_request,
                          wait_kind::asynchronous}) {
    s.wait = wait;
    EXPECT_EQ(run_it(s, workers).checksum, right) << name_of(wait);
  }
}

TEST_P(jacobi3d_run, sees_the_same_change_with_the_interior_ahead) {
  s.tolerance = 1e-12;
  s.check_every = 2;
  const double change = run_it(s, workers).last_change;
  s.overlap = true;
  for (const auto exchange : {exchange_kind::direct, exchange_kind::staged}) {
    s.exchange = exchange;
    const run_result r = run_it(s, workers);
    EXPECT_EQ(r.last_change, change);
    EXPECT_EQ(r.checksum, right);
  }
}

TEST(jacobi3d, has_blocks_that_are_all_exterior) {
  settings s = small_run();
  s.grid = {3, 2, 2};
  s.odf = 6;
  const std::uint64_t right = serial_checksum(s);
  for (const bool overlap : {false, true}) {
    s.overlap = overlap;
    EXPECT_EQ(run_it(s, 2).checksum, right);
  }
}

TEST(jacobi3d, ends_when_no_cell_changes) {
  settings s = small_run();
  s.grid = {6, 5, 4};
  s.problem = problem_kind::mode;
  s.odf = 2;
  s.warmup = 0;
  s.iterations = 1000;
  s.check_every = 7;
  s.tolerance = 1e-6;
  const run_result r = run_it(s, 2);
  EXPECT_LT(r.iterations, 200);
  EXPECT_EQ(r.iterations % 7, 0);
  EXPECT_LE(r.last_change, 1e-6);
  const serial_solver serial = solved(s, r.iterations);
  EXPECT_EQ(serial.change(), r.last_change);
  EXPECT_EQ(serial.checksum(), r.checksum);
}

TEST(jacobi3d, agrees_with_the_analytic_solution_and_detects_a_deviation) {
  settings s = small_run();
  s.problem = problem_kind::mode;
  s.odf = 3;
  const run_result right = run_it(s, 2);
  EXPECT_LE(right.error, problem::tolerance(right.iterations));
  s.spoilt = true;
  const run_result wrong = run_it(s, 2);
  EXPECT_GT(wrong.error, problem::tolerance(wrong.iterations));
  EXPECT_NE(wrong.checksum, right.checksum);
}

TEST(jacobi3d, shows_chares_kernels_and_copies_in_its_timeline) {
  settings s = small_run();
  s.exchange = exchange_kind::staged;
  s.odf = 2;
  const starling_test::scratch_folder folder;
  s.runtime.trace_file = folder.path() + "/trace.json";
  static_cast<void>(run_it(s, 2));
  std::ifstream file(s.runtime.trace_file);
  const nlohmann::json trace = nlohmann::json::parse(file);
  std::map<std::string, std::set<std::string>> names;  // by kind
  for (const auto& e : trace.at("traceEvents"))
    if (e.value("ph", "") == "X") names[e.at("cat")].insert(e.at("name"));
  EXPECT_TRUE(names["task"].contains("block::run"));
  // Devices other than the host add the namespace to the name.
  for (const std::string kernel : {"update", "pack", "unpack"})
    EXPECT_TRUE(names["kernel"].contains(kernel) || names["kernel"].contains("jacobi3d::" + kernel))
        << kernel;
  EXPECT_FALSE(names["copy"].empty());
}

settings read(const std::vector<std::string>& words) {
  return apps::test::read_words(read_settings, words);
}

TEST(jacobi3d_options, describe_a_run) {
  settings s = read({"--grid", "100", "60", "7", "--odf", "4", "--exchange", "staged", "--wait",
                     "work-request", "--streams-of", "device", "--run-ahead", "2"});
  EXPECT_EQ(s.grid, (triple{100, 60, 7}));
  EXPECT_EQ(s.odf, 4);
  EXPECT_EQ(s.exchange, exchange_kind::staged);
  EXPECT_EQ(s.wait, wait_kind::work_request);
  EXPECT_EQ(s.streams, stream_owner::device);
  EXPECT_EQ(s.run_ahead, 2);
  s = read({"--fusion", "B", "--graphs"});
  EXPECT_EQ(s.grid, (triple{128, 128, 128}));
  EXPECT_EQ(s.fusion, fusion_kind::b);
  EXPECT_TRUE(s.graphs);
  EXPECT_FALSE(s.overlap);
  EXPECT_TRUE(read({"--overlap"}).overlap);
  EXPECT_EQ(s.iterations, 100);
  EXPECT_FALSE(s.has_blocks());
  EXPECT_EQ(s.checkpoint_every, 0);
  EXPECT_EQ(s.checkpoint_folder, "jacobi3d.checkpoints");
  s = read({"--blocks", "4", "2", "1", "--checkpoint-every", "20", "--checkpoint-folder", "here",
            "--checkpoints-kept", "3"});
  EXPECT_TRUE(s.has_blocks());
  EXPECT_EQ(s.blocks, (triple{4, 2, 1}));
  EXPECT_EQ(s.checkpoint_every, 20);
  EXPECT_EQ(s.checkpoint_folder, "here");
  EXPECT_EQ(s.checkpoints_kept, 3);
  EXPECT_EQ(read({"--wait", "synchronous", "--exchange", "staged"}).runtime.get("completion", ""),
            "block");
}

TEST(jacobi3d_options, are_refused_when_they_are_invalid) {
  using words = std::vector<std::string>;
  for (const words& bad :
       {words{"--grid", "8", "8"}, words{"--grid", "8", "8", "0"}, words{"--fusion", "D"},
        words{"--wait", "never"}, words{"--streams-of", "rank"}, words{"--run-ahead", "1"},
        words{"--blocks", "2", "2"}, words{"--blocks", "2", "0", "2"},
        words{"--blocks", "2", "2", "2", "--odf", "2"}, words{"--checkpoint-every", "-1"},
        words{"--checkpoints-kept", "0"}})
    EXPECT_THROW(static_cast<void>(read(bad)), starling::option_error) << bad[0];
}

TEST(jacobi3d, refuses_options_that_exclude_each_other) {
  settings s = small_run();
  s.exchange = exchange_kind::staged;
  s.graphs = true;
  EXPECT_THROW(complete_settings(s), starling::option_error);
  s.graphs = false;
  s.fusion = fusion_kind::c;
  EXPECT_THROW(complete_settings(s), starling::option_error);
  s.fusion = fusion_kind::none;
  complete_settings(s);
  s.exchange = exchange_kind::direct;
  s.wait = wait_kind::polling;
  EXPECT_THROW(complete_settings(s), starling::option_error);
  s.exchange = exchange_kind::staged;
  s.runtime.extra["completion"] = "block";
  EXPECT_THROW(complete_settings(s), starling::option_error);
  s.wait = wait_kind::synchronous;
  complete_settings(s);
  s.runtime.extra["completion"] = "word";
  EXPECT_THROW(complete_settings(s), starling::option_error);
  s = small_run();
  s.overlap = true;
  complete_settings(s);
  s.graphs = true;
  EXPECT_THROW(complete_settings(s), starling::option_error);
  s.graphs = false;
  s.fusion = fusion_kind::c;
  EXPECT_THROW(complete_settings(s), starling::option_error);
}

TEST(jacobi3d, checks_for_convergence_in_the_last_iteration_at_least) {
  settings s = small_run();
  s.problem = problem_kind::mode;
  s.tolerance = 1e-12;
  s.check_every = 100;
  const run_result r = run_it(s, 2);
  EXPECT_EQ(r.timed_iterations, s.iterations);
  EXPECT_GT(r.last_change, 1e-12);
  EXPECT_LT(r.last_change, 1.0);
}

TEST(jacobi3d, refuses_more_blocks_than_cells) {
  settings s = small_run();
  s.grid = {2, 2, 2};
  s.odf = 5;
  EXPECT_THROW(static_cast<void>(run_it(s, 2)), starling::option_error);
  s.blocks = {1, 3, 1};
  EXPECT_THROW(static_cast<void>(run_it(s, 2)), starling::option_error);
}

TEST(jacobi3d, has_the_given_blocks_on_any_number_of_workers) {
  settings s = small_run();
  s.blocks = {3, 1, 4};
  const std::uint64_t right = serial_checksum(s);
  for (const unsigned workers : {1u, 2u, 3u, 5u})
    for (const bool round_robin : {false, true}) {
      s.round_robin = round_robin;
      const run_result r = run_it(s, workers);
      EXPECT_EQ(r.checksum, right) << workers;
      EXPECT_EQ(r.cut.blocks, s.blocks);
    }
}

TEST(jacobi3d, has_workers_without_blocks) {
  settings s = small_run();
  s.blocks = {1, 1, 2};
  EXPECT_EQ(run_it(s, 4).checksum, serial_checksum(s));
}

}  // namespace
}  // namespace jacobi3d
