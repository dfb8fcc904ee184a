// SPDX-License-Identifier: Apache-2.0
// The contract of all balancers.
#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include <gtest/gtest.h>

#include <starling/core/error.hpp>

#include "synthetic_loads.hpp"

namespace {

namespace balance = starling::balance;
using balance::plan, balance::snapshot, balance::verdict;
using starling_test::add_devices, starling_test::after, starling_test::grid_of;
using starling_test::numbers, starling_test::uneven_grid;

class balancer_contract : public testing::TestWithParam<std::string> {
 protected:
  [[nodiscard]] plan run(const snapshot& s) const {
    return balance::make_balancer(GetParam())->balance(s);
  }
  [[nodiscard]] bool changes_nothing() const { return GetParam() == "none"; }
};

void expect_valid(const snapshot& s, const plan& p) {
  std::set<std::uint32_t> moved;
  for (const auto& m : p.migrations) {
    ASSERT_LT(m.element, s.elements.size());
    ASSERT_LT(m.to, s.workers.size());
    const auto& e = s.elements[m.element];
    EXPECT_EQ(m.id, e.id);
    EXPECT_EQ(m.from, e.worker);
    EXPECT_NE(m.from, m.to);
    EXPECT_FALSE(e.is_anchored) << "element " << m.id;
    if (e.is_bound_to_rank) {
      EXPECT_EQ(s.workers[m.to].rank, s.workers[m.from].rank) << "element " << m.id;
    }
    EXPECT_TRUE(moved.insert(m.element).second) << "element " << m.id << " migrates twice";
    EXPECT_FALSE(balance::describe(s, m).empty());
  }
  EXPECT_EQ(p.migrations.empty(), p.decision != verdict::migrate);
  const balance::estimate now = balance::estimate_step(s, after(s, p));
  EXPECT_DOUBLE_EQ(now.step_seconds, p.after.step_seconds);
  EXPECT_EQ(now.overfull_bytes, p.after.overfull_bytes);
  EXPECT_LE(p.after.overfull_bytes, p.before.overfull_bytes);
  if (p.before.overfull_bytes == 0) {
    EXPECT_LE(p.after.step_seconds, p.before.step_seconds);
  }
}

bool is_same(const plan& a, const plan& b) {
  const auto key = [](const plan& p) {
    std::map<std::uint64_t, std::pair<std::uint32_t, balance::reason>> all;
    for (const auto& m : p.migrations) all[m.id] = {m.to, m.why};
    return all;
  };
  return key(a) == key(b) && a.decision == b.decision;
}

TEST_P(balancer_contract, uneven_host_loads_become_even) {
  for (const std::uint32_t workers : {2u, 7u, 16u}) {
    const snapshot s = uneven_grid(32, workers, workers);
    const plan p = run(s);
    expect_valid(s, p);
    if (changes_nothing()) continue;
    EXPECT_EQ(p.decision, verdict::migrate);
    EXPECT_LT(p.after.imbalance(), 1.1) << workers << " workers, " << p.before.imbalance();
  }
}

TEST_P(balancer_contract, host_and_device_loads_become_even_together) {
  for (const std::uint32_t sharing : {1u, 2u}) {
    snapshot s = uneven_grid(32, 8, 5);
    add_devices(s, sharing, 6);
    const plan p = run(s);
    expect_valid(s, p);
    if (changes_nothing()) continue;
    EXPECT_LT(p.after.imbalance(), 1.15) << sharing << " workers a device";
    EXPECT_LT(p.after.host_seconds, p.before.host_seconds);
    EXPECT_LT(p.after.device_seconds, p.before.device_seconds);
  }
}

TEST_P(balancer_contract, a_balanced_snapshot_stays) {
  snapshot s = grid_of(16, 8);
  for (auto& e : s.elements) e.host_seconds = 1;
  add_devices(s, 2, 1);
  for (auto& e : s.elements) e.device_seconds = 0.5;
  const plan p = run(s);
  EXPECT_EQ(p.decision, verdict::balanced);
  EXPECT_TRUE(p.migrations.empty());
  // Noise below the tolerance changes nothing.
  numbers random(3);
  for (auto& e : s.elements) e.host_seconds = 1 + 0.01 * random();
  EXPECT_TRUE(run(s).migrations.empty());
}

TEST_P(balancer_contract, anchored_elements_stay) {
  snapshot s = uneven_grid(32, 8, 9);
  numbers random(10);
  for (auto& e : s.elements) e.is_anchored = random() < 0.3;
  const plan p = run(s);
  expect_valid(s, p);
  if (!changes_nothing()) {
    EXPECT_LT(p.after.step_seconds, p.before.step_seconds);
  }
  for (auto& e : s.elements) e.is_anchored = true;
  EXPECT_EQ(run(s).decision, verdict::nothing_better);
}

TEST_P(balancer_contract, elements_that_are_bound_to_their_rank_migrate_within_it) {
  for (const double share : {0.5, 1.0}) {
    snapshot s = uneven_grid(32, 8, 11);
    for (std::uint32_t w = 0; w < 8; ++w) s.workers[w].rank = w / 4;
    numbers random(12);
    for (auto& e : s.elements) {
      e.is_bound_to_rank = random() < share;
      e.is_anchored = random() < 0.1;
      if (e.worker % 4 == 0) e.host_seconds *= 4;
    }
    const plan p = run(s);
    expect_valid(s, p);
    if (changes_nothing()) continue;
    EXPECT_LT(p.after.step_seconds, 0.7 * p.before.step_seconds) << share;
    EXPECT_TRUE(std::ranges::any_of(
        p.migrations, [&](const auto& m) { return s.elements[m.element].is_bound_to_rank; }));
  }
}

TEST_P(balancer_contract, elements_of_ranks_with_one_worker_are_anchored_if_they_are_bound) {
  snapshot s = uneven_grid(32, 8, 13);
  for (std::uint32_t w = 0; w < 8; ++w) s.workers[w].rank = w;
  for (auto& e : s.elements) e.is_bound_to_rank = true;
  EXPECT_EQ(run(s).decision, verdict::nothing_better);
}

TEST_P(balancer_contract, device_memory_is_a_hard_limit) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    snapshot s = uneven_grid(16, 8, seed);
    add_devices(s, 2, seed);
    std::vector<std::uint64_t> used(s.devices.size());
    for (const auto& e : s.elements) used[s.workers[e.worker].device] += e.device_bytes;
    numbers random(seed);
    // Between no room at all and room for three elements.
    for (std::size_t d = 0; d < used.size(); ++d)
      s.devices[d].memory_bytes = used[d] + random.below(6000);
    const plan p = run(s);
    expect_valid(s, p);
    std::vector<std::uint64_t> now(s.devices.size());
    const auto worker_of = after(s, p);
    for (std::size_t i = 0; i < worker_of.size(); ++i)
      now[s.workers[worker_of[i]].device] += s.elements[i].device_bytes;
    for (std::size_t d = 0; d < now.size(); ++d) EXPECT_LE(now[d], s.devices[d].memory_bytes);
  }
}

TEST_P(balancer_contract, an_overfull_device_is_relieved) {
  snapshot s = grid_of(16, 8);
  for (auto& e : s.elements) e.host_seconds = 1;
  add_devices(s, 2, 4);
  for (auto& e : s.elements) {
    e.device_bytes = 1000;
    e.device_seconds = 0.5;
  }
  for (auto& d : s.devices) d.memory_bytes = 70'000;
  s.devices[1].memory_bytes = 60'000;  // its elements have 64 000
  const plan p = run(s);
  if (changes_nothing()) return;
  EXPECT_EQ(p.before.overfull_bytes, 4000u);
  EXPECT_EQ(p.after.overfull_bytes, 0u);
  EXPECT_TRUE(std::ranges::any_of(
      p.migrations, [](const auto& m) { return m.why == balance::reason::device_memory; }));
}

TEST_P(balancer_contract, elements_with_device_load_stay_on_workers_with_a_device) {
  snapshot s = uneven_grid(16, 8, 2);
  s.devices.resize(2);
  s.workers[0].device = 0;
  s.workers[1].device = 1;
  for (auto& e : s.elements)
    if (e.worker < 2) e.device_seconds = e.id % 2 == 0 ? 1 : 0;
  const plan p = run(s);
  expect_valid(s, p);
  for (const auto& m : p.migrations)
    if (s.elements[m.element].device_seconds > 0) {
      EXPECT_LT(m.to, 2u);
    }
}

TEST_P(balancer_contract, faster_workers_get_more) {
  snapshot s = uneven_grid(32, 8, 11);
  for (std::size_t w = 4; w < 8; ++w) s.workers[w].speed = 3;
  const plan p = run(s);
  expect_valid(s, p);
  if (!changes_nothing()) {
    EXPECT_LT(p.after.imbalance(), 1.15) << p.before.imbalance();
  }
}

TEST_P(balancer_contract, the_same_loads_give_the_same_plan_in_any_order) {
  snapshot s = uneven_grid(16, 6, 12);
  add_devices(s, 2, 13);
  const plan first = run(s);
  EXPECT_TRUE(is_same(first, run(s)));
  snapshot shuffled = s;
  std::vector<std::uint32_t> order(s.elements.size()), place(order.size());
  std::iota(order.begin(), order.end(), 0u);
  numbers random(14);
  for (std::uint32_t i = std::uint32_t(order.size()); i > 1; --i)
    std::swap(order[i - 1], order[random.below(i)]);
  for (std::uint32_t i = 0; i < order.size(); ++i) {
    shuffled.elements[i] = s.elements[order[i]];
    place[order[i]] = i;
  }
  for (auto& edge : shuffled.edges) edge = {place[edge.from], place[edge.to], edge.bytes, 1};
  std::ranges::reverse(shuffled.edges);
  const plan other = run(shuffled);
  EXPECT_TRUE(is_same(first, other));
  expect_valid(shuffled, other);
}

TEST_P(balancer_contract, migrations_that_do_not_pay_are_not_made) {
  snapshot s = uneven_grid(16, 4, 15);
  if (changes_nothing()) return;
  s.steps = 1;
  s.costs.seconds_per_byte = 1;  // an element takes 1 000 s
  const plan costly = run(s);
  EXPECT_EQ(costly.decision, verdict::does_not_pay);
  EXPECT_TRUE(costly.migrations.empty());
  EXPECT_GT(costly.cost_seconds, costly.before.step_seconds);
  s.steps = 1e9;
  const plan patient = run(s);
  EXPECT_EQ(patient.decision, verdict::migrate);
  EXPECT_LT(patient.cost_seconds,
            (patient.before.step_seconds - patient.after.step_seconds) * s.steps);
  EXPECT_EQ(patient.bytes, 1000 * patient.migrations.size());
}

TEST_P(balancer_contract, extreme_snapshots_are_handled) {
  snapshot s;
  EXPECT_TRUE(run(s).migrations.empty());  // nothing at all
  s.workers.push_back({0});
  EXPECT_TRUE(run(s).migrations.empty());  // no elements
  s = uneven_grid(8, 1, 1);
  EXPECT_TRUE(run(s).migrations.empty());  // one worker
  s = grid_of(8, 4);
  EXPECT_TRUE(run(s).migrations.empty());  // no load
  s = uneven_grid(2, 64, 1);
  expect_valid(s, run(s));  // more workers than elements
  s = grid_of(8, 4);
  for (auto& e : s.elements) e.worker = 3;
  s.elements[5].host_seconds = 7;
  EXPECT_TRUE(run(s).migrations.empty());  // one element has all load
  s = uneven_grid(8, 4, 1);
  for (auto& e : s.elements) e.position = {1e308, -1e308, 0};
  expect_valid(s, run(s));  // all at one place
  s.elements[0].position = {-1e308, 1e308, 0};
  expect_valid(s, run(s));
  for (auto& w : s.workers) w.rank += 5;  // ranks without workers
  expect_valid(s, run(s));
}

TEST_P(balancer_contract, all_load_on_one_worker_is_spread) {
  snapshot s = grid_of(32, 16);
  for (auto& e : s.elements) {
    e.worker = 5;
    e.host_seconds = 1;
  }
  const plan p = run(s);
  expect_valid(s, p);
  if (!changes_nothing()) {
    EXPECT_LT(p.after.imbalance(), 1.1);
  }
}

TEST_P(balancer_contract, random_snapshots_give_valid_plans) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    numbers random(seed);
    snapshot s = uneven_grid(4 + random.below(8), 1 + random.below(12), seed);
    if (random() < 0.6) add_devices(s, 1 + random.below(3), seed);
    const std::uint32_t ranks = 1 + random.below(6);
    for (auto& w : s.workers) w.rank = random.below(ranks);
    for (auto& e : s.elements) {
      e.is_anchored = random() < 0.1;
      e.is_bound_to_rank = random() < 0.1;
      e.has_position = random() < 0.9;
      e.worker = random.below(std::uint32_t(s.workers.size()));
      if (random() < 0.2) e.host_seconds = 0;
    }
    for (auto& d : s.devices) d.memory_bytes = 20'000 + random.below(100'000);
    if (random() < 0.5) s.costs = {1e-3 * random(), 1e-6 * random(), 1e4 * random(), 1e-3};
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    expect_valid(s, run(s));
  }
}

INSTANTIATE_TEST_SUITE_P(all, balancer_contract,
                         testing::Values("none", "greedy", "refine", "curve", "bisection",
                                         "communication", "diffusion", "hierarchical"),
                         [](const auto& info) { return info.param; });

TEST(balancer_names, the_contract_is_tested_for_all_balancers) {
  const std::vector<std::string> tested{"none",      "greedy",        "refine",    "curve",
                                        "bisection", "communication", "diffusion", "hierarchical"};
  const std::vector<std::string> names = balance::balancer_names();
  EXPECT_TRUE(std::equal(tested.begin(), tested.end(), names.begin()));
}

}  // namespace
