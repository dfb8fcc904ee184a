// SPDX-License-Identifier: Apache-2.0
// Runs that are restarted from a checkpoint have the bits of an undisturbed run.
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "app_support.hpp"
#include "common/tests/words.hpp"
#include "support/scratch_folder.hpp"

namespace jacobi2d {
namespace {

constexpr int every = 4;

run_result run_it(settings s, unsigned workers) {
  s.runtime.workers = workers;
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

settings restarted(settings s, const char* from) {
  s.runtime.extra["restart"] = from;
  return s;
}

/// A run of 13 iterations with checkpoints after 4, 8 and 12, numbered from 1.
class jacobi2d_checkpoints : public testing::Test {
 protected:
  jacobi2d_checkpoints() {
    s.strips = 5;
    s.checkpoint_every = every;
    s.checkpoint_folder = folder.path() + "/run";
    s.checkpoints_kept = 3;
    right = serial_checksum(s);
  }
  void expect_right_restart(const settings& of, unsigned workers, std::uint64_t checksum) {
    settings next = restarted(of, "2");
    next.checkpoint_every = 0;  // the checkpoints remain
    const run_result r = run_it(next, workers);
    EXPECT_EQ(r.checksum, checksum);
    EXPECT_EQ(r.checkpoints.restart, 2 * every);
    EXPECT_EQ(r.timed_iterations, s.warmup + s.iterations - 2 * every);
  }
  starling_test::scratch_folder folder;
  settings s = small_run();
  std::uint64_t right = 0;
};

TEST_F(jacobi2d_checkpoints, restart_on_any_number_of_workers) {
  const run_result r = run_it(s, 2);
  EXPECT_EQ(r.checksum, right);
  EXPECT_EQ(r.checkpoints.complete, 3);
  for (const unsigned workers : {1u, 2u, 3u, 7u}) expect_right_restart(s, workers, right);
}

TEST_F(jacobi2d_checkpoints, are_continued_by_another_exchange) {
  static_cast<void>(run_it(s, 2));
  settings other = s;
  other.graphs = true;
  expect_right_restart(other, 2, right);
  other.graphs = false;
  other.exchange = exchange_kind::staged;
  expect_right_restart(other, 2, right);
  // A run that begins anew numbers its checkpoints after those that are there.
  EXPECT_EQ(run_it(other, 2).checkpoints.complete, 3);
  for (const exchange_kind exchange : {exchange_kind::staged, exchange_kind::direct}) {
    other.exchange = exchange;
    EXPECT_EQ(run_it(restarted(other, "latest"), 3).checksum, right);
  }
}

TEST_F(jacobi2d_checkpoints, have_the_values_of_the_cells) {
  s.spoilt = true;
  const std::uint64_t wrong = run_it(s, 2).checksum;
  ASSERT_NE(wrong, right);
  s.spoilt = false;  // the restart gets the wrong cell from the checkpoint
  expect_right_restart(s, 2, wrong);
}

TEST_F(jacobi2d_checkpoints, of_another_problem_are_refused_with_both_problems) {
  static_cast<void>(run_it(s, 2));
  settings other = restarted(s, "latest");
  other.strips = 6;
  try {
    static_cast<void>(run_it(other, 2));
    FAIL() << "not refused";
  } catch (const starling::option_error& e) {
    const std::string text = e.what();
    EXPECT_NE(text.find("--grid 45 35 --strips 5 --problem random --seed 1"), text.npos) << text;
    EXPECT_NE(text.find("--grid 45 35 --strips 6 --problem random --seed 1"), text.npos) << text;
  }
}

TEST(jacobi2d_checkpoint_options, are_refused_for_resident_strips) {
  const auto read = [](const std::vector<std::string>& words) {
    return apps::test::read_words(read_settings, words);
  };
  const settings s = read({"--strips", "7", "--checkpoint-every", "3"});
  EXPECT_EQ(s.strips, 7);
  EXPECT_EQ(s.checkpoint_every, 3);
  EXPECT_EQ(s.checkpoint_folder, "jacobi2d.checkpoints");
  using words = std::vector<std::string>;
  for (const words& bad : {words{"--checkpoint-every", "3"}, words{"--starling-restart", "latest"},
                           words{"--strips", "7"}}) {
    words resident = bad;
    resident.insert(resident.end(), {"--resident", "asynchronous"});
    EXPECT_THROW(static_cast<void>(read(resident)), starling::option_error) << bad[0];
  }
  EXPECT_THROW(static_cast<void>(read({"--strips", "7", "--odf", "2"})), starling::option_error);
}

}  // namespace
}  // namespace jacobi2d
