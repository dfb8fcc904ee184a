// SPDX-License-Identifier: Apache-2.0
// Parts of the balancers: the steps of diffusion, the curve, and the choice of the time.
#include <cmath>
#include <cstdlib>
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "objects/balance/curve_key.hpp"
#include "objects/balance/winner_tree.hpp"
#include "synthetic_loads.hpp"

namespace {

namespace balance = starling::balance;
namespace diffusion = starling::balance::diffusion;
using balance::schedule;

TEST(diffusion_step, partners_are_mutual_and_reach_all_workers) {
  for (const std::uint32_t workers : {2u, 3u, 8u, 13u, 100u}) {
    std::set<std::uint32_t> reached{0};
    for (unsigned round = 0; round < 7; ++round) {
      const std::set<std::uint32_t> before = reached;
      for (std::uint32_t w = 0; w < workers; ++w) {
        const auto [up, down] = diffusion::partners(w, workers, round);
        EXPECT_EQ(diffusion::partners(up, workers, round)[1], w);
        EXPECT_EQ(diffusion::partners(down, workers, round)[0], w);
        EXPECT_NE(up, w);
        if (before.contains(w)) reached.insert({up, down});
      }
    }
    EXPECT_EQ(reached.size(), workers);
  }
  EXPECT_EQ(diffusion::partners(0, 1, 3), (std::array<std::uint32_t, 2>{0, 0}));
}

TEST(diffusion_step, load_flows_only_downhill) {
  const auto flow = diffusion::flow({8, 1}, {4, 3});
  EXPECT_DOUBLE_EQ(flow.host, 1);
  EXPECT_DOUBLE_EQ(flow.device, 0);
}

TEST(diffusion_step, chosen_elements_come_near_the_wanted_load) {
  const std::vector<diffusion::load_pair> all{{5, 0}, {0.5, 3}, {3, 0}, {1, 1}, {0, 0}};
  std::vector<bool> taken(all.size());
  // 5 is nearer to (4, 1) than nothing; behind it no element comes nearer.
  EXPECT_EQ(diffusion::choose(all, {4, 1}, taken), (std::vector<std::uint32_t>{0}));
  taken.assign(all.size(), false);
  EXPECT_TRUE(diffusion::choose(all, {0, 0}, taken).empty());
  taken.assign(all.size(), false);
  taken[0] = true;
  EXPECT_EQ(diffusion::choose(all, {3.2, 0}, taken), (std::vector<std::uint32_t>{2}));
  EXPECT_TRUE(taken[2]);
}

TEST(curve_key, neighbours_on_the_hilbert_curve_are_neighbours_in_space) {
  // All cells of a cube of 8³: the key's low bits are equal for all of them.
  std::map<std::uint64_t, balance::cell> line;
  constexpr std::uint32_t side = 8, size = 1u << (balance::curve_bits - 3);
  for (std::uint32_t x = 0; x < side; ++x)
    for (std::uint32_t y = 0; y < side; ++y)
      for (std::uint32_t z = 0; z < side; ++z) {
        const std::uint64_t key =
            balance::interleave(balance::to_hilbert({x * size, y * size, z * size})) >>
            3 * (balance::curve_bits - 3);
        EXPECT_TRUE(line.emplace(key, balance::cell{x, y, z}).second) << "two cells have one key";
      }
  ASSERT_EQ(line.size(), side * side * side);
  EXPECT_EQ(line.begin()->first, 0u);
  EXPECT_EQ(line.rbegin()->first, side * side * side - 1);
  for (auto a = line.begin(), b = std::next(a); b != line.end(); ++a, ++b) {
    int distance = 0;
    for (int axis = 0; axis < 3; ++axis)
      distance += std::abs(int(a->second[axis]) - int(b->second[axis]));
    EXPECT_EQ(distance, 1);
  }
}

TEST(curve_key, the_morton_key_interleaves_bits) {
  EXPECT_EQ(balance::interleave({1, 0, 0}), 4u);
  EXPECT_EQ(balance::interleave({2, 1, 3}), 0b101'011u);
}

TEST(winner_tree, has_the_first_of_the_smallest_keys) {
  starling_test::numbers random(1);
  balance::winner_tree tree(11);
  std::vector<double> keys(11, std::numeric_limits<double>::infinity());
  for (int i = 0; i < 1000; ++i) {
    const std::uint32_t at = random.below(11);
    keys[at] = random.below(5);
    tree.set(at, keys[at]);
    EXPECT_EQ(tree.best(), std::uint32_t(std::ranges::min_element(keys) - keys.begin()));
  }
}

TEST(balance_schedule, a_fixed_interval_is_kept) {
  schedule s(3);
  for (int round = 0; round < 3; ++round) {
    for (int step = 0; step < 3; ++step) {
      EXPECT_FALSE(s.is_due());
      EXPECT_EQ(s.steps_until_due(), 3 - step);
      s.record_step(2, 1);
    }
    EXPECT_TRUE(s.is_due());
    EXPECT_EQ(s.steps_until_due(), 0);
    s.record_balancing(1, 0);
  }
}

TEST(balance_schedule, a_balanced_program_is_never_due) {
  schedule s;
  for (int step = 0; step < 10'000; ++step) {
    s.record_step(1, 1);
    EXPECT_FALSE(s.is_due());
  }
  EXPECT_EQ(s.steps_until_due(), std::nullopt);
}

TEST(balance_schedule, what_balancing_cannot_remove_does_not_make_it_due) {
  schedule s;
  s.record_step(2, 1);
  s.record_balancing(0.5, 0.25);
  for (int step = 0; step < 1000; ++step) s.record_step(1.25, 1);
  EXPECT_FALSE(s.is_due());
  EXPECT_EQ(s.loss_seconds(), 0);
}

/// Returns the number of steps with this excess until balancing is due.
int steps_until_due(schedule& s, double excess) {
  int steps = 0;
  for (; !s.is_due() && steps < 10'000; ++steps) s.record_step(1 + excess, 1);
  return steps;
}

TEST(balance_schedule, what_was_predicted_wrongly_makes_it_due) {
  schedule s;
  s.record_step(2, 1);
  s.record_balancing(0.5, 0.125);
  EXPECT_EQ(steps_until_due(s, 0.25), 4) << "an excess of 0.25 instead of 0.125";
}

TEST(balance_schedule, wrong_predictions_are_repeated_less_and_less_often) {
  schedule s;
  s.record_step(2, 1);
  for (const int steps : {2, 4, 8, 16, 32, 64, 128, 128}) {
    s.record_balancing(1, 0);
    EXPECT_EQ(steps_until_due(s, 0.5), steps);
  }
  s.record_balancing(1, 0);
  EXPECT_EQ(steps_until_due(s, 0.125), 8) << "a prediction was right";
}

TEST(balance_schedule, predictions_are_compared_by_shares_of_the_load) {
  schedule s;
  s.record_step(2, 1);
  s.record_balancing(1, 0.125);
  s.record_step(4.5, 4);  // four times the load: an excess of 0.125, as predicted
  EXPECT_DOUBLE_EQ(s.loss_seconds(), 0.375);
  EXPECT_EQ(steps_until_due(s, 0.25), 5) << "0.625 seconds are left, not 1.625";
}

TEST(balance_schedule, excess_within_the_tolerance_is_no_loss) {
  schedule s(0, 0.125);
  for (int step = 0; step < 1000; ++step) s.record_step(step % 2 == 0 ? 1 : 1.125, 1);
  EXPECT_EQ(s.loss_seconds(), 0);
  EXPECT_EQ(steps_until_due(s, 0.25), 10) << "the cost of a step of 1.25 seconds";
}

TEST(balance_schedule, migrations_that_do_not_pay_yet_are_considered_again_after_their_cost) {
  schedule s;
  EXPECT_EQ(steps_until_due(s, 0.25), 5) << "the cost of a step";
  s.postpone(4);
  EXPECT_EQ(s.uneven_steps(), 5);
  EXPECT_EQ(steps_until_due(s, 0.25), 11) << "4 seconds, of which 1.25 are lost already";
  s.postpone(1);
  EXPECT_EQ(steps_until_due(s, 0.25), 16) << "twice the loss";
}

TEST(balance_schedule, migrations_that_do_not_pay_yet_are_no_wrong_prediction) {
  schedule s;
  s.record_step(2, 1);
  for (int i = 0; i < 3; ++i) {
    s.record_balancing(1, 0);
    s.record_step(2, 1);  // no better: balancing is due after twice the cost, then four times
  }
  s.postpone(4);
  EXPECT_EQ(steps_until_due(s, 1), 3) << "4 seconds, of which one is lost already";
}

TEST(balance_schedule, migrations_that_do_not_pay_begin_a_new_fixed_interval) {
  schedule s(3);
  for (int round = 0; round < 2; ++round) {
    for (int step = 0; step < 3; ++step) {
      EXPECT_FALSE(s.is_due());
      s.record_step(2, 1);
    }
    EXPECT_TRUE(s.is_due());
    s.postpone(1);
  }
}

TEST(balance_schedule, a_balanced_past_does_not_make_imbalance_last) {
  schedule s(0, 0.02);
  for (int step = 0; step < 1'000'000; ++step) s.record_step(1.01, 1);
  s.record_step(1.5, 1);
  EXPECT_DOUBLE_EQ(s.uneven_steps(), 1);
}

TEST(balance_schedule, growing_imbalance_is_due_at_the_optimum) {
  // The excess grows by 0.01 s a step, a balancing costs 2 s: sqrt(2 · 2 / 0.01) = 20 steps.
  schedule s;
  s.record_balancing(2, 0);
  int step = 0;
  for (; !s.is_due() && step < 1000; ++step) {
    if (step == 10) {
      EXPECT_NEAR(s.steps_until_due().value(), 10, 1);
    }
    s.record_step(1 + 0.01 * step, 1);
  }
  EXPECT_NEAR(step, 20, 1);
}

TEST(balance_schedule, the_interval_is_near_the_best_fixed_one) {
  const double growth = 0.003, cost = 1.7;
  const auto total = [&](schedule s) {
    double time = 0;
    int age = 0;
    for (int step = 0; step < 10'000; ++step, ++age) {
      s.record_step(1 + growth * age, 1);
      time += growth * age;
      if (!s.is_due()) continue;
      time += cost;
      s.record_balancing(cost, 0);
      age = -1;
    }
    return time;
  };
  double best = 1e300;
  for (std::uint64_t interval = 1; interval < 200; ++interval)
    best = std::min(best, total(schedule(interval)));
  EXPECT_LT(total(schedule()), 1.1 * best);
}

TEST(balance_schedule, a_sudden_imbalance_is_due_when_it_has_cost_a_balancing) {
  schedule s;
  s.record_balancing(3, 0);
  for (int step = 0; step < 100; ++step) s.record_step(1, 1);
  EXPECT_EQ(steps_until_due(s, 1), 3);
}

// --- the cost of migrations

TEST(cost_meter, compares_a_step_with_migrations_with_the_next_one) {
  balance::cost_meter costs;
  EXPECT_EQ(costs.share(), 1);
  costs.record_steps(3, 1, 4);
  EXPECT_EQ(costs.share(), 1) << "until there is a step without";
  costs.record_steps(4, 2, 0);
  EXPECT_DOUBLE_EQ(costs.share(), 0.25) << "a step took 3 seconds, then 2";
  costs.record_steps(8, 2, 4);
  costs.record_steps(3, 1, 0);
  EXPECT_DOUBLE_EQ(costs.share(), (0.75 * 1 + 2) / (0.75 * 4 + 4))
      << "two steps took 8 seconds, then one took 3";
}

TEST(cost_meter, leaves_out_steps_after_which_elements_migrate_again) {
  balance::cost_meter costs;
  costs.record_steps(9, 1, 4);
  costs.record_steps(2, 1, 4);
  costs.record_steps(1, 1, 0);
  EXPECT_DOUBLE_EQ(costs.share(), 0.25) << "that of the second balancing";
}

TEST(cost_meter, is_not_biased_by_errors_of_both_signs) {
  balance::cost_meter costs;
  for (int i = 0; i < 40; ++i) {
    const double error = i % 2 == 0 ? 8 : -8;  // of migrations that cost 2 of 4 assumed seconds
    costs.record_steps(20 + 2 + error, 1, 4);
    costs.record_steps(20, 1, 0);
  }
  EXPECT_NEAR(costs.share(), 0.5, 0.3);
}

TEST(cost_meter, has_a_share_between_a_tenth_and_all) {
  balance::cost_meter none, much;
  none.record_steps(1, 1, 4);
  none.record_steps(2, 1, 0);
  EXPECT_EQ(none.share(), 0.1);
  much.record_steps(9, 1, 4);
  much.record_steps(1, 1, 0);
  EXPECT_EQ(much.share(), 1);
}

}  // namespace
