// SPDX-License-Identifier: Apache-2.0
// Runs that are restarted from a checkpoint have the bits of an undisturbed run.
#include <filesystem>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "app_support.hpp"
#include "support/scratch_folder.hpp"

namespace jacobi3d {
namespace {

constexpr int every = 4;
constexpr int middle = 2 * every;  // iterations of the checkpoint with number 2

/// A run of 14 iterations with checkpoints after 4, 8 and 12, numbered from 1.
settings run_with_checkpoints(const std::string& folder) {
  settings s = small_run();
  s.blocks = {2, 2, 3};
  s.iterations = 11;
  s.checkpoint_every = every;
  s.checkpoint_folder = folder;
  s.checkpoints_kept = 3;
  return s;
}

settings restarted(settings s, const char* from) {
  s.runtime.extra["restart"] = from;
  return s;
}

/// Expects that the run restarts in the middle and ends with the right bits.
void expect_right_restart(const settings& s, unsigned workers, std::uint64_t right) {
  const run_result r = run_it(restarted(s, "2"), workers);
  EXPECT_EQ(r.checksum, right);
  EXPECT_EQ(r.checkpoints.restart, middle);
  EXPECT_EQ(r.iterations, s.warmup + s.iterations);
  EXPECT_EQ(r.timed_iterations, s.warmup + s.iterations - middle);
}

class jacobi3d_checkpoints : public testing::Test {
 protected:
  starling_test::scratch_folder folder;
  settings s = run_with_checkpoints(folder.path() + "/run");
  const std::uint64_t right = serial_checksum(s);
  std::string refusal(const settings& of) {
    try {
      static_cast<void>(run_it(of, 2));
    } catch (const starling::option_error& e) {
      return e.what();
    }
    return "none";
  }
};

TEST_F(jacobi3d_checkpoints, do_not_change_the_result_of_the_run_that_takes_them) {
  const run_result r = run_it(s, 2);
  EXPECT_EQ(r.checksum, right);
  EXPECT_EQ(r.checkpoints.complete, 3);
  EXPECT_EQ(r.checkpoints.failed, 0);
  EXPECT_FALSE(r.checkpoints.restart);
  EXPECT_GT(r.checkpoints.copy_seconds, 0.0);
}

TEST_F(jacobi3d_checkpoints, restart_on_any_number_of_workers) {
  static_cast<void>(run_it(s, 2));
  s.checkpoint_every = 0;  // later checkpoints remain
  for (const unsigned workers : {1u, 2u, 3u, 5u}) expect_right_restart(s, workers, right);
}

TEST_F(jacobi3d_checkpoints, are_taken_and_continued_in_every_kind_of_exchange) {
  const auto ways = [this] {
    std::vector<settings> all;
    for (const fusion_kind fusion :
         {fusion_kind::none, fusion_kind::a, fusion_kind::b, fusion_kind::c}) {
      all.push_back(s);
      all.back().fusion = fusion;
      all.back().graphs = fusion == fusion_kind::b;
      all.back().overlap = fusion == fusion_kind::a;
      all.back().streams = fusion == fusion_kind::a ? stream_owner::device : stream_owner::block;
    }
    for (const wait_kind wait : {wait_kind::synchronous, wait_kind::polling,
                                 wait_kind::work_request, wait_kind::asynchronous}) {
      all.push_back(s);
      all.back().exchange = exchange_kind::staged;
      all.back().wait = wait;
      all.back().overlap = wait == wait_kind::polling;
    }
    return all;
  }();
  for (std::size_t i = 0; i < ways.size(); ++i) {
    SCOPED_TRACE(i);
    const run_result r = run_it(ways[i], 2);
    EXPECT_EQ(r.checksum, right);
    EXPECT_EQ(r.checkpoints.complete, 3);
    // A run that begins anew in the same folder numbers its checkpoints after those that are there.
    for (const std::size_t next : {i, (i + 3) % ways.size()}) {
      const run_result continued = run_it(restarted(ways[next], "latest"), 3);
      EXPECT_EQ(continued.checksum, right);
      EXPECT_EQ(continued.checkpoints.restart, 3 * every);
    }
  }
}

TEST_F(jacobi3d_checkpoints, contain_no_message_of_a_transfer) {
  s.exchange = exchange_kind::staged;
  const auto size_with = [this](wait_kind wait, const char* name) {
    s.wait = wait;
    s.checkpoint_folder = folder.path() + "/" + name;
    static_cast<void>(run_it(s, 2));
    return std::filesystem::file_size(s.checkpoint_folder + "/checkpoint.000003/share.000000");
  };
  EXPECT_EQ(size_with(wait_kind::work_request, "work-request"),
            size_with(wait_kind::asynchronous, "asynchronous"));
}

TEST_F(jacobi3d_checkpoints, have_the_values_of_the_cells) {
  s.spoilt = true;
  const std::uint64_t wrong = run_it(s, 2).checksum;
  ASSERT_NE(wrong, right);
  s.spoilt = false;  // the restart gets the wrong cell from the checkpoint
  s.checkpoint_every = 0;
  expect_right_restart(s, 2, wrong);
}

TEST_F(jacobi3d_checkpoints, restart_a_job_that_takes_further_ones) {
  static_cast<void>(run_it(s, 2));
  const run_result r = run_it(restarted(s, "2"), 1);
  EXPECT_EQ(r.checkpoints.complete, 1);
  EXPECT_EQ(run_it(restarted(s, "latest"), 3).checkpoints.restart, 3 * every);
}

TEST_F(jacobi3d_checkpoints, begin_anew_if_there_is_none) {
  const run_result r = run_it(restarted(s, "latest"), 2);
  EXPECT_EQ(r.checksum, right);
  EXPECT_FALSE(r.checkpoints.restart);
  EXPECT_EQ(r.checkpoints.complete, 3);
}

TEST_F(jacobi3d_checkpoints, that_are_older_are_removed) {
  s.checkpoints_kept = 1;
  static_cast<void>(run_it(s, 2));
  EXPECT_TRUE(std::filesystem::exists(s.checkpoint_folder + "/checkpoint.000003"));
  EXPECT_FALSE(std::filesystem::exists(s.checkpoint_folder + "/checkpoint.000002"));
}

TEST_F(jacobi3d_checkpoints, continue_in_the_warm_up) {
  s.warmup = 10;
  s.iterations = 4;
  static_cast<void>(run_it(s, 2));
  const run_result r = run_it(restarted(s, "1"), 3);
  EXPECT_EQ(r.checksum, right);
  EXPECT_EQ(r.checkpoints.restart, every);
  EXPECT_EQ(r.timed_iterations, 4);
}

TEST_F(jacobi3d_checkpoints, can_be_continued_further_than_the_run_that_took_them) {
  static_cast<void>(run_it(s, 2));
  s.iterations += 20;
  const run_result r = run_it(restarted(s, "latest"), 2);
  EXPECT_EQ(r.checksum, serial_checksum(s));
  EXPECT_EQ(r.timed_iterations, 34 - 3 * every);
}

TEST_F(jacobi3d_checkpoints, do_not_change_when_a_run_has_converged) {
  s.grid = {6, 5, 4};
  s.blocks = {2, 1, 2};
  s.problem = problem_kind::mode;
  s.warmup = 0;
  s.iterations = 1000;
  s.check_every = 7;
  s.tolerance = 1e-6;
  s.checkpoint_every = 0;
  const run_result undisturbed = run_it(s, 2);
  s.checkpoint_every = 5;
  for (const char* restart : {"none", "latest"}) {
    const run_result r = run_it(restarted(s, restart), 2);
    EXPECT_EQ(r.iterations, undisturbed.iterations);
    EXPECT_EQ(r.last_change, undisturbed.last_change);
    EXPECT_EQ(r.checksum, undisturbed.checksum);
  }
}

TEST_F(jacobi3d_checkpoints, of_another_problem_are_refused_with_both_problems) {
  static_cast<void>(run_it(s, 2));
  const std::string stored = "--grid 13 10 17 --blocks 2 2 3 --problem random --seed 1";
  ASSERT_EQ(refusal(restarted(s, "latest")), "none");
  const auto expect_refusal = [&](auto change, const std::string& mine) {
    settings other = s;
    change(other);
    const std::string text = refusal(restarted(other, "latest"));
    EXPECT_NE(text.find(stored), std::string::npos) << text;
    EXPECT_NE(text.find(mine), std::string::npos) << text;
  };
  expect_refusal([](settings& o) { o.grid.y = 11; }, "--grid 13 11 17");
  expect_refusal([](settings& o) { o.blocks = {2, 3, 2}; }, "--blocks 2 3 2");
  expect_refusal([](settings& o) { o.blocks = {}; }, "--blocks 1 1 2");
  expect_refusal([](settings& o) { o.problem = problem_kind::mode; }, "--problem mode");
  expect_refusal([](settings& o) { o.seed = 7; }, "--seed 7");
  EXPECT_EQ(run_it(restarted(s, "latest"), 2).checksum, right);  // refusals have changed nothing
}

TEST_F(jacobi3d_checkpoints, behind_the_last_iteration_are_refused) {
  static_cast<void>(run_it(s, 2));
  s.iterations = 3 * every - s.warmup;
  const std::string text = refusal(restarted(s, "3"));
  EXPECT_NE(text.find("--iterations 9 with --warmup 3"), std::string::npos) << text;
  EXPECT_NE(text.find("12 iterations"), std::string::npos) << text;
}

TEST_F(jacobi3d_checkpoints, that_do_not_exist_are_refused) {
  static_cast<void>(run_it(s, 2));
  EXPECT_THROW(static_cast<void>(run_it(restarted(s, "17"), 2)), starling::checkpoint_error);
  EXPECT_THROW(static_cast<void>(run_it(restarted(s, "last"), 2)), starling::option_error);
}

/// The backends of the first run and of its restart.
class jacobi3d_checkpoints_between
    : public testing::TestWithParam<std::tuple<const char*, const char*>> {};
INSTANTIATE_TEST_SUITE_P(backends, jacobi3d_checkpoints_between,
                         testing::Values(std::tuple("host", "cuda"), std::tuple("cuda", "host"),
                                         std::tuple("host", "kokkos"), std::tuple("kokkos", "host"),
                                         std::tuple("host", "sycl"), std::tuple("sycl", "host")),
                         [](const auto& p) {
                           return std::string(std::get<0>(p.param)) + "_and_" +
                                  std::get<1>(p.param);
                         });

TEST_P(jacobi3d_checkpoints_between, have_the_same_bits) {
  const starling_test::scratch_folder folder;
  settings first = run_with_checkpoints(folder.path() + "/run");
  settings second = first;
  first.runtime.extra["backend"] = std::get<0>(GetParam());
  second.runtime.extra["backend"] = std::get<1>(GetParam());
  for (const settings& s : {first, second})
    if (const auto why = apps::test::reason_to_skip(s.runtime)) GTEST_SKIP() << *why;
  static_cast<void>(run_it(first, 2));
  second.checkpoint_every = 0;
  expect_right_restart(second, 3, serial_checksum(first));
}

}  // namespace
}  // namespace jacobi3d
