// SPDX-License-Identifier: Apache-2.0
// Parts are weighed by their times, which changes no bit of the result.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include <starling/core.hpp>

#include "driver/balance.hpp"
#include "driver/part.hpp"
#include "objects/cluster.hpp"
#include "placement/busy_clock.hpp"
#include "tests/app_support.hpp"
#include "tests/changing_trees.hpp"

namespace stars::test {
namespace {

using starling_test::cluster;
using std::chrono::seconds;

busy_clock::moment at(int second) { return busy_clock::moment(seconds(second)); }

TEST(busy_clock, counts_the_time_of_at_least_one_piece) {
  busy_clock clock;
  clock.begin(at(10));
  clock.begin(at(11));
  clock.end(at(13));
  EXPECT_EQ(clock.seconds(), 0.0);
  clock.end(at(14));
  EXPECT_EQ(clock.seconds(), 4.0);
  clock.begin(at(20));
  clock.end(at(21));
  EXPECT_EQ(clock.seconds(), 5.0);
}

TEST(busy_clock, is_not_set_back_by_a_reading_of_another_thread) {
  busy_clock clock;
  clock.begin(at(12));
  clock.end(at(11));
  EXPECT_EQ(clock.seconds(), 0.0);
}

TEST(rebalance_schedule, waits_longer_while_nothing_moves) {
  rebalance_schedule s(100, 5);
  std::vector<long> due;
  for (long step = 101; step < 200; ++step)
    if (s.is_due(step)) {
      due.push_back(step);
      s.done(step, due.size() == 1);
    }
  EXPECT_EQ(due, (std::vector<long>{105, 110, 120, 140, 180}));
}

TEST(balance_record, has_the_first_and_the_last_measured_interval) {
  balance_record r;
  r.add(0.0, 1);
  EXPECT_EQ(r.intervals, 0);
  r.add(1.5, 2);
  r.add(1.2, 0);
  EXPECT_EQ(r.intervals, 2);
  EXPECT_EQ(r.first, 1.5);
  EXPECT_EQ(r.last, 1.2);
  EXPECT_EQ(r.moved, 3);
}

struct ranks_and_workers {
  int ranks;
  unsigned workers;
};

/// Runs on several ranks that divide the leaves by measured or artificial times.
class moving_parts : public testing::TestWithParam<residency> {
 protected:
  [[nodiscard]] static settings settings_for(const snapshot& first,
                                             std::vector<double> artificial) {
    settings s;
    s.numerics = scheme_for(first);
    s.place = GetParam();
    s.balance.artificial = std::move(artificial);
    return s;
  }
  struct end {
    snapshot state;
    balance_record balanced;
  };
  /// Runs `lead`, which gets the simulation.
  template <class Lead>
  static end run(ranks_and_workers on, const snapshot& first, const settings& s, Lead lead) {
    by_files files;
    end got;
    const auto all = [&](starling::runtime& rt) -> starling::task<int> {
      const auto sim = co_await files.make_across_ranks(rt, first, s);
      co_await lead(*sim);
      got.state = co_await files.gather(*sim);
      got.balanced = sim->balanced();
      co_return 0;
    };
    cluster{on.ranks, on.workers}.expect(0, all);
    return got;
  }

  /// Expects the bits of the serial driver, with times that move leaves at each change.
  static void expect_the_serial_bits(ranks_and_workers on) {
    const changing_run& trees = changing_trees();
    const settings s = settings_for(trees.first, violent_times);
    const end got =
        run(on, trees.first, s, [&](adaptive_simulation& sim) { return follow(sim, trees); });
    EXPECT_TRUE(got.state.grid == trees.last.grid);
    expect_same_bits(got.state, trees.last);
    EXPECT_EQ(got.balanced.intervals, 4);
    EXPECT_EQ(got.balanced.moved > 0, on.ranks > 1);
  }

  /// Times that differ a lot, and are in another order at each division.
  inline static const std::vector<double> violent_times{3.0, 0.5, 9.0, 1.0, 2.0};
};

TEST_P(moving_parts, give_the_serial_bits_of_trees_that_change_on_any_number_of_ranks) {
  EXPECT_GT(std::min(changing_trees().refined, changing_trees().coarsened), 0);
  for (const auto& on : {ranks_and_workers{1, 2}, {2, 2}, {4, 1}, {8, 1}})
    expect_the_serial_bits(on);
}

TEST_P(moving_parts, give_the_serial_bits_of_trees_that_change_on_2_ranks_of_2) {
  expect_the_serial_bits({2, 2});
}

TEST_P(moving_parts, give_the_serial_bits_on_a_mesh_that_stays) {
  snapshot first = make_blast(1);
  first.boundary = boundary_kind::periodic;
  const settings s = settings_for(first, violent_times);
  const snapshot expected = serial(first, scheme_for(first), 3);
  for (const auto& on : {ranks_and_workers{1, 2}, {2, 2}, {4, 1}, {8, 1}}) {
    int changes = 0;
    const end got = run(on, first, s, [&](adaptive_simulation& sim) -> starling::task<> {
      for (int k = 0; k < 3; ++k) {
        co_await sim.step(no_limit);
        co_await sim.finish();
        changes += co_await sim.rebalance();
      }
    });
    expect_same_bits(got.state, expected);
    // Eight parts of eight leaves have no choice.
    EXPECT_EQ(changes > 0, on.ranks > 1 && on.ranks < 8);
    EXPECT_EQ(got.balanced.moved > 0, changes > 0);
  }
}

TEST_P(moving_parts, are_measured) {
  const snapshot first = make_blast(1);
  const end got = run({4, 1}, first, settings_for(first, {}),
                      [&](adaptive_simulation& sim) -> starling::task<> {
                        co_await sim.step(no_limit);
                        co_await sim.finish();
                        static_cast<void>(co_await sim.rebalance());
                      });
  EXPECT_EQ(got.balanced.intervals, 1);
  EXPECT_GE(got.balanced.first, 1.0);
  EXPECT_LE(got.balanced.first, 4.0);
}

INSTANTIATE_TEST_SUITE_P(of, moving_parts, testing::Values(residency::staged, residency::resident),
                         [](const auto& info) { return std::string(name_of(info.param)); });

TEST(parts, stay_without_balance) {
  const snapshot first = make_blast(1);
  settings s;
  s.numerics = scheme_for(first);
  s.balance = {balance_kind::none, {3.0, 0.5}};
  by_files files;
  cluster{2, 1}.expect(0, [&](starling::runtime& rt) -> starling::task<int> {
    const auto sim = co_await files.make_across_ranks(rt, first, s);
    co_await sim->step(no_limit);
    co_await sim->finish();
    EXPECT_FALSE(co_await sim->rebalance());
    EXPECT_EQ(sim->balanced().moved, 0);
    co_return 0;
  });
}

}  // namespace
}  // namespace stars::test
