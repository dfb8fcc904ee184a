// SPDX-License-Identifier: Apache-2.0
// Two places for checkpoints: folders of the ranks, which are lost with them, and a persistent
// folder, which gets each N-th checkpoint.
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <starling/core.hpp>
#include <starling/objects.hpp>

#include "private_checkpoint.hpp"

namespace starling {
namespace {

using starling_test::cells_program;
using starling_test::cluster;
using starling_test::over_ucx;
using starling_test::private_checkpoint;

/// Each second checkpoint is in `scratch/disk`, the other ones in `scratch/{rank}`.
class persistent_checkpoint : public private_checkpoint {
 protected:
  persistent_checkpoint() {
    persistent = scratch.path() + "/disk";
    persistent_every = 2;
  }
  [[nodiscard]] std::string on_disk(int number) const {
    return persistent + "/checkpoint.00000" + std::to_string(number);
  }
  [[nodiscard]] std::vector<int> numbers_in(const std::string& folder) const {
    std::vector<int> found;
    for (int n = 1; n < 10; ++n)
      if (std::filesystem::exists(folder + "/checkpoint.00000" + std::to_string(n) + "/manifest"))
        found.push_back(n);
    return found;
  }
  void lose_all() const {
    for (int r = 0; r < all.ranks; ++r) lose(r);
  }
};
INSTANTIATE_TEST_SUITE_P(on, persistent_checkpoint,
                         testing::Values(cluster{2, 2}, cluster{4, 1}, over_ucx({3, 1})),
                         starling_test::cluster_name);

using numbers = std::vector<int>;

TEST_P(persistent_checkpoint, is_each_nth_one) {
  take(7);
  EXPECT_EQ(numbers_in(persistent), (numbers{4, 6}));
  for (int r = 0; r < all.ranks; ++r) EXPECT_EQ(numbers_in(folder(r)), (numbers{5, 7})) << r;
}

TEST_P(persistent_checkpoint, is_used_where_it_is_the_newest) {
  take(4);
  EXPECT_EQ(expect_restart(all, 4, 6), "");
  std::filesystem::remove_all(persistent);
  EXPECT_EQ(expect_restart(all, 3, 6), "");
}

TEST_P(persistent_checkpoint, is_not_used_where_the_ranks_have_a_newer_one) {
  take(5);
  EXPECT_EQ(expect_restart(all, 5, 7), "");
}

TEST_P(persistent_checkpoint, remains_when_all_folders_of_ranks_are_lost) {
  take(5);
  lose_all();
  EXPECT_EQ(expect_restart(cluster{3, 2}, 4, 7), "");
  EXPECT_EQ(expect_restart(cluster{1, 1}, 4, 7).find("is not used"), std::string::npos);
}

TEST_P(persistent_checkpoint, remains_when_both_copies_of_a_share_are_lost) {
  take(5);
  std::filesystem::remove(share(5, 0, 0));
  std::filesystem::remove(share(5, 1, 0));
  expect_text(expect_restart(all, 4, 7), "checkpoint.000005 is not used: ");
}

TEST_P(persistent_checkpoint, is_replaced_by_an_older_one_where_it_is_damaged) {
  take(4);
  damage(on_disk(4) + "/share.000000");
  const std::string said = expect_restart(all, 3, 6);
  expect_text(said, "checkpoint.000004 is not used: ");
  lose_all();
  expect_text(expect_restart(all, 2, 6), "checkpoint.000004 is not used: ");
}

TEST_P(persistent_checkpoint, is_followed_by_the_next_number) {
  take(5);
  lose_all();
  run(all, "latest", [&](cells_program& p) -> task<> {
    for (int step = 5; step <= 7; ++step) {
      co_await p.advance_to(step);
      auto written = co_await p.saved.take(std::uint64_t(step));
      EXPECT_EQ(co_await std::move(written), std::uint64_t(step));
    }
  });
  EXPECT_EQ(numbers_in(persistent), (numbers{4, 6}));
  EXPECT_EQ(numbers_in(folder(1)), (numbers{5, 7}));
}

TEST_P(persistent_checkpoint, may_be_chosen_by_its_number) {
  take(5);
  run(all, "2", [&](cells_program& p) -> task<> {
    EXPECT_EQ(p.saved.step(), 2u);
    EXPECT_EQ(co_await p.contents(), contents[2]);
  });
}

TEST_P(persistent_checkpoint, is_the_last_one_of_a_run_that_stops) {
  testing::internal::CaptureStderr();
  all.expect(stopped_at_checkpoint, [&](runtime& rt) -> task<int> {
    const checkpoint_options options(2, "test", "none", 2, persistent, persistent_every);
    auto p = co_await cells_program::begin(rt, scratch.path() + "/{rank}", options);
    co_await p.advance_to(1);
    contents[1] = co_await p.contents();
    ::raise(SIGUSR1);
    auto written = co_await p.saved.take(1);
    ADD_FAILURE() << "the run goes on";
    co_return 0;
  });
  expect_text(testing::internal::GetCapturedStderr(), "stopped at checkpoint 1 as requested");
  EXPECT_EQ(numbers_in(persistent), numbers{1});
  lose_all();
  expect_restart(all, 1, 1);
}

TEST_P(persistent_checkpoint, that_cannot_be_written_costs_no_other_one) {
  std::filesystem::create_directories(persistent);
  const std::string obstacle = on_disk(2);
  const std::string said = run(all, "none", [&](cells_program& p) -> task<> {
    for (int step = 1; step <= 3; ++step) {
      co_await p.advance_to(step);
      contents[step] = co_await p.contents();
      if (step == 2) std::ofstream(obstacle) << "a file where a folder should be";
      auto written = co_await p.saved.take(std::uint64_t(step));
      if (step == 2) {
        EXPECT_THROW(static_cast<void>(co_await std::move(written)), checkpoint_error);
        std::filesystem::remove(obstacle);
      } else {
        EXPECT_EQ(co_await std::move(written), std::uint64_t(step));
      }
    }
  });
  expect_text(said, "checkpoint.000002 was not written: ");
  EXPECT_EQ(numbers_in(persistent), numbers());
  EXPECT_EQ(numbers_in(folder(0)), (numbers{1, 3}));
  EXPECT_EQ(expect_restart(all, 3, 3), "");
}

TEST_P(persistent_checkpoint, that_cannot_be_written_does_not_keep_a_run_from_stopping) {
  std::filesystem::create_directories(persistent);
  std::ofstream(on_disk(1)) << "a file where a folder should be";
  testing::internal::CaptureStderr();
  all.expect(stopped_at_checkpoint, [&](runtime& rt) -> task<int> {
    const checkpoint_options options(2, "test", "none", 2, persistent, 100);
    auto p = co_await cells_program::begin(rt, scratch.path() + "/{rank}", options);
    ::raise(SIGUSR1);
    auto first = co_await p.saved.take(0);
    EXPECT_THROW(static_cast<void>(co_await std::move(first)), checkpoint_error);
    auto second = co_await p.saved.take(0);
    ADD_FAILURE() << "the run goes on";
    co_return 0;
  });
  expect_text(testing::internal::GetCapturedStderr(), "stopped at checkpoint 2 as requested");
  EXPECT_EQ(numbers_in(folder(0)), numbers{2});
}

TEST_P(persistent_checkpoint, has_folders_of_its_own) {
  for (const std::string same : {"/{rank}", "/./{rank}"}) {
    all.expect(0, [&](runtime& rt) -> task<int> {
      const checkpoint_options options(2, "", "none", 1, scratch.path() + same, 2);
      auto opening = checkpoints::open(rt, scratch.path() + "/{rank}", options);
      EXPECT_THROW(static_cast<void>(co_await std::move(opening)), usage_error);
      co_return 0;
    });
  }
}

TEST(persistent_checkpoints, may_be_chosen_by_the_options_of_a_run) {
  const starling_test::scratch_folder scratch;
  const auto take_two = [&](const std::string& every) {
    runtime_options options = starling_test::options_with(2);
    options.extra["checkpoint-persistent"] = scratch.path() + "/disk";
    options.extra["checkpoint-persistent-every"] = every;
    runtime rt(options);
    const auto main = [&](runtime& on) -> task<int> {
      auto p = co_await cells_program::begin(on, scratch.path() + "/own", {});
      for (int step = 1; step <= 2; ++step) {
        auto written = co_await p.saved.take(std::uint64_t(step));
        static_cast<void>(co_await std::move(written));
      }
      co_return 0;
    };
    return starling::run(rt, main(rt));
  };
  EXPECT_EQ(take_two("2"), 0);
  EXPECT_TRUE(std::filesystem::exists(scratch.path() + "/own/checkpoint.000001/manifest"));
  EXPECT_TRUE(std::filesystem::exists(scratch.path() + "/disk/checkpoint.000002/manifest"));
  EXPECT_FALSE(std::filesystem::exists(scratch.path() + "/disk/checkpoint.000001"));
  for (const std::string wrong : {"0", "x", "-1"})
    EXPECT_THROW(static_cast<void>(take_two(wrong)), option_error) << wrong;
}

}  // namespace
}  // namespace starling
