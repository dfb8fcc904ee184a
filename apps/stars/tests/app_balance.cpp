// SPDX-License-Identifier: Apache-2.0
// Parts are weighed by their times, which changes no bit of the result.
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include <starling/core.hpp>

#include "driver/balance.hpp"
#include "driver/part.hpp"
#include "driver/regrid.hpp"
#include "objects/cluster.hpp"
#include "placement/busy_clock.hpp"
#include "tests/app_support.hpp"

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

struct moving_case {
  residency place;
  int ranks;
  unsigned workers;
};
std::ostream& operator<<(std::ostream& out, const moving_case& c) {
  return out << name_of(c.place) << "_" << c.ranks << "_ranks_of_" << c.workers;
}

class moving_parts : public testing::TestWithParam<moving_case> {
 protected:
  [[nodiscard]] static settings settings_with(std::vector<double> artificial) {
    settings s;
    s.place = GetParam().place;
    s.balance.artificial = std::move(artificial);
    return s;
  }
  struct end {
    snapshot state;
    balance_record balanced;
  };
  /// Runs `lead`, which gets the simulation, on all ranks.
  template <class Lead>
  static end run(const snapshot& first, const settings& s, Lead lead) {
    end got;
    const auto all = [&](starling::runtime& rt) -> starling::task<int> {
      const auto sim = co_await make_across_ranks(rt, first, s);
      co_await lead(*sim);
      got.state = co_await sim->gather();
      got.balanced = sim->balanced();
      co_return 0;
    };
    cluster{GetParam().ranks, GetParam().workers}.expect(0, all);
    return got;
  }
};

/// Times that differ a lot, and are in another order at each division.
const std::vector<double> violent_times{3.0, 0.5, 9.0, 1.0, 2.0};

TEST_P(moving_parts, give_the_serial_bits_while_the_mesh_changes) {
  const std::vector<refinement_rule> rules = {
      {field::rho, refinement_measure::relative_difference, 0.09}};
  const level_limits limits{1, 3};
  const snapshot first = on_levels(boundary_kind::periodic, 12);
  snapshot expected = first;
  for (int k = 0; k < 3; ++k) {
    expected = serial(expected, scheme_for(first), 1);
    regrid(expected, rules, limits);
  }
  settings s = settings_with(violent_times);
  s.numerics = scheme_for(first);
  const end got = run(first, s, [&](adaptive_simulation& sim) -> starling::task<> {
    for (int k = 0; k < 3; ++k) {
      co_await sim.step(no_limit);
      co_await sim.finish();
      co_await sim.regrid(rules, limits);
    }
  });
  EXPECT_TRUE(got.state.grid == expected.grid);
  expect_same_bits(got.state, expected);
  EXPECT_EQ(got.balanced.intervals, 3);
  EXPECT_EQ(got.balanced.moved > 0, GetParam().ranks > 1);
}

TEST_P(moving_parts, give_the_serial_bits_on_a_mesh_that_stays) {
  snapshot first = make_blast(1);
  first.boundary = boundary_kind::periodic;
  settings s = settings_with(violent_times);
  s.numerics = scheme_for(first);
  int changes = 0;
  const end got = run(first, s, [&](adaptive_simulation& sim) -> starling::task<> {
    for (int k = 0; k < 3; ++k) {
      co_await sim.step(no_limit);
      co_await sim.finish();
      changes += co_await sim.rebalance();
    }
  });
  expect_same_bits(got.state, serial(first, scheme_for(first), 3));
  // Eight parts of eight leaves have no choice.
  EXPECT_EQ(changes > 0, GetParam().ranks > 1 && GetParam().ranks < 8);
  EXPECT_EQ(got.balanced.moved > 0, changes > 0);
}

TEST_P(moving_parts, are_measured) {
  const snapshot first = make_blast(1);
  settings s = settings_with({});
  s.numerics = scheme_for(first);
  const end got = run(first, s, [&](adaptive_simulation& sim) -> starling::task<> {
    co_await sim.step(no_limit);
    co_await sim.finish();
    static_cast<void>(co_await sim.rebalance());
  });
  EXPECT_EQ(got.balanced.intervals, 1);
  EXPECT_GE(got.balanced.first, 1.0);
  EXPECT_LE(got.balanced.first, GetParam().ranks);
}

INSTANTIATE_TEST_SUITE_P(
    of, moving_parts,
    testing::Values(moving_case{residency::staged, 1, 2}, moving_case{residency::staged, 2, 2},
                    moving_case{residency::staged, 4, 1}, moving_case{residency::staged, 8, 1},
                    moving_case{residency::resident, 2, 2}, moving_case{residency::resident, 4, 1}),
    [](const auto& info) { return testing::PrintToString(info.param); });

TEST(moving_parts, stay_without_balance) {
  const snapshot first = make_blast(1);
  settings s;
  s.numerics = scheme_for(first);
  s.balance = {balance_kind::none, violent_times};
  cluster{2, 1}.expect(0, [&](starling::runtime& rt) -> starling::task<int> {
    const auto sim = co_await make_across_ranks(rt, first, s);
    co_await sim->step(no_limit);
    co_await sim->finish();
    EXPECT_FALSE(co_await sim->rebalance());
    EXPECT_EQ(sim->balanced().moved, 0);
    co_return 0;
  });
}

}  // namespace
}  // namespace stars::test
