// SPDX-License-Identifier: Apache-2.0
// Quality of the balancers: against an exhaustive search, and on problems with a known optimum.
#include <algorithm>
#include <cmath>
#include <numeric>

#include <gtest/gtest.h>

#include "synthetic_loads.hpp"

namespace {

namespace balance = starling::balance;
using balance::plan, balance::snapshot;
using starling_test::after, starling_test::grid_of, starling_test::numbers;

/// Exhaustive search: tries all workers for each element, those with the largest loads first, and
/// gives up a branch that is no better.
class exhaustive_search {
 public:
  explicit exhaustive_search(const snapshot& s)
      : m_s(s), m_elements(s.elements), m_host(s.workers.size()), m_device(s.devices.size()) {
    std::ranges::sort(m_elements, std::ranges::greater(), [](const balance::element_load& e) {
      return std::max(e.host_seconds, e.device_seconds);
    });
    place(0, 0);
  }
  [[nodiscard]] double best() const { return m_best; }

 private:
  void place(std::size_t element, double level) {
    if (level >= m_best) return;
    if (element == m_elements.size()) {
      m_best = level;
      return;
    }
    const auto& e = m_elements[element];
    for (std::size_t w = 0; w < m_host.size(); ++w) {
      const std::size_t d = m_s.workers[w].device;
      m_host[w] += e.host_seconds;
      m_device[d] += e.device_seconds;
      place(element + 1, std::max({level, m_host[w], m_device[d]}));
      m_host[w] -= e.host_seconds;
      m_device[d] -= e.device_seconds;
    }
  }

  const snapshot& m_s;
  std::vector<balance::element_load> m_elements;
  std::vector<double> m_host, m_device;
  double m_best = 1e300;
};

/// Twelve elements whose host load is large where their device load is small, on `workers` workers
/// with one device each, or with one for two.
snapshot opposing(std::uint32_t workers, std::uint32_t sharing, std::uint64_t seed) {
  numbers random(seed);
  snapshot s;
  for (std::uint32_t w = 0; w < workers; ++w) s.workers.push_back({w / sharing, w / sharing});
  s.devices.resize((workers + sharing - 1) / sharing);
  for (std::uint32_t i = 0; i < 12; ++i) {
    balance::element_load e;
    e.id = i;
    e.worker = random.below(workers);
    const double share = random();
    e.host_seconds = share * (0.5 + random());
    e.device_seconds = (1 - share) * (0.5 + random());
    e.position = {random(), random(), random()};
    e.has_position = true;
    s.elements.push_back(e);
  }
  return s;
}

TEST(opposing_loads, are_within_10_percent_of_an_exhaustive_search) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const std::uint32_t workers = 2 + seed % 3, sharing = 1 + seed / 3 % 2;
    const snapshot s = opposing(workers, sharing, seed);
    const double best = exhaustive_search(s).best();
    for (const char* name : {"greedy", "refine", "hierarchical"}) {
      const auto balancer = balance::make_balancer(name, {.tolerance = 0, .minimum_gain = 0});
      const double ratio = balancer->balance(s).after.step_seconds / best;
      EXPECT_GE(ratio, 1 - 1e-9) << name << ", seed " << seed;
      EXPECT_LE(ratio, 1.1) << name << ", seed " << seed << ", " << workers << " workers";
    }
  }
}

TEST(balancer_figures, heavy_elements_in_front_reach_the_ideal_on_two_workers) {
  snapshot s;
  s.workers = {{0}, {1}};
  for (std::uint32_t i = 0; i < 64; ++i) {
    balance::element_load e;
    e.id = i;
    e.worker = i / 32;
    e.host_seconds = i < 16 ? 8 : 1;
    e.position = {double(i), 0, 0};
    e.has_position = true;
    s.elements.push_back(e);
    if (i > 0) s.edges.push_back({i - 1, i, 8, 1});
  }
  for (const char* name :
       {"greedy", "refine", "curve", "bisection", "communication", "diffusion", "hierarchical"}) {
    const plan p = balance::make_balancer(name)->balance(s);
    EXPECT_DOUBLE_EQ(p.before.step_seconds, 144);
    EXPECT_LE(p.after.step_seconds, 88 * 1.02) << name;
  }
}

TEST(balancer_figures, refinement_migrates_less_than_a_curve) {
  const snapshot s = starling_test::uneven_grid(64, 16, 4);
  const auto count = [&](const char* name) {
    return balance::make_balancer(name)->balance(s).migrations.size();
  };
  EXPECT_LT(count("refine"), count("curve"));
  EXPECT_LT(count("refine"), s.elements.size() / 3);
}

class pieces : public testing::TestWithParam<std::string> {};

TEST_P(pieces, go_to_the_workers_that_have_most_of_them) {
  const auto balancer = balance::make_balancer(GetParam());
  snapshot s = starling_test::uneven_grid(64, 16, 4);
  const auto worker_of = after(s, balancer->balance(s));
  // The workers exchange their pieces, and one corner becomes heavier.
  for (std::uint32_t i = 0; i < s.elements.size(); ++i) {
    s.elements[i].worker = (worker_of[i] * 5 + 3) % 16;
    if (s.elements[i].position[0] + s.elements[i].position[1] < 12)
      s.elements[i].host_seconds *= 1.5;
  }
  const plan p = balancer->balance(s);
  EXPECT_EQ(p.decision, balance::verdict::migrate);
  EXPECT_LT(p.after.imbalance(), 1.05);
  EXPECT_LT(p.migrations.size(), s.elements.size() / 4);
}

INSTANTIATE_TEST_SUITE_P(all, pieces, testing::Values("curve", "bisection"),
                         [](const auto& info) { return info.param; });

TEST(balancer_figures, coordinates_and_edges_keep_neighbours_together) {
  // All elements are scattered at random, and one quarter is heavy.
  snapshot s = starling_test::uneven_grid(64, 16, 4);
  numbers random(7);
  for (auto& e : s.elements) e.worker = random.below(16);
  const double bytes = balance::estimate_step(s, balance::current_workers(s)).bytes_between_ranks;
  const auto between = [&](const char* name) {
    return balance::make_balancer(name)->balance(s).after.bytes_between_ranks / bytes;
  };
  EXPECT_GT(between("greedy"), 0.9);
  EXPECT_LT(between("curve"), 0.25);
  EXPECT_LT(between("bisection"), 0.25);
  EXPECT_LT(between("communication"), 0.25);
}

TEST(balancer_figures, a_rank_bound_by_messages_is_relieved) {
  // Pairs that exchange much are on different ranks; the loads are even.
  snapshot s;
  s.workers = {{0}, {1}, {2}, {3}};
  s.costs.bytes_per_second = 1e6;
  for (std::uint32_t i = 0; i < 64; ++i) {
    balance::element_load e;
    e.id = i;
    e.worker = i % 4;
    e.host_seconds = 0.01;
    s.elements.push_back(e);
    if (i % 2 == 1) s.edges.push_back({i - 1, i, 1e5, 1});
  }
  const plan p = balance::make_balancer("communication")->balance(s);
  EXPECT_DOUBLE_EQ(p.before.network_seconds, 1.6);
  EXPECT_LT(p.after.network_seconds, 0.2);
  EXPECT_LT(p.after.host_seconds, 0.25);
  for (const auto& m : p.migrations) EXPECT_EQ(m.why, balance::reason::communication);
}

/// A million elements on ten thousand workers.
snapshot many(const std::string& pattern) {
  return starling_test::patterned(pattern, 10'000, 100, 1);
}

class diffusion_rounds : public testing::TestWithParam<std::string> {};

TEST_P(diffusion_rounds, thirty_balance_ten_thousand_workers) {
  const plan p = balance::make_balancer("diffusion", {.rounds = 30})->balance(many(GetParam()));
  EXPECT_GT(p.before.imbalance(), 1.25);
  EXPECT_LT(p.after.imbalance(), 1.05);
}

TEST_P(diffusion_rounds, three_are_too_few) {
  const plan p = balance::make_balancer("diffusion", {.rounds = 3})->balance(many(GetParam()));
  EXPECT_GT(p.after.imbalance(), 1.05);
}

const auto name_of_pattern = [](const auto& info) { return info.param; };
INSTANTIATE_TEST_SUITE_P(one, diffusion_rounds, testing::Values("hotspot"), name_of_pattern);
INSTANTIATE_TEST_SUITE_P(nightly, diffusion_rounds, testing::Values("random", "gradient"),
                         name_of_pattern);

class many_elements : public testing::TestWithParam<std::string> {};

TEST_P(many_elements, with_both_loads_come_within_5_percent_of_the_ideal) {
  snapshot s = starling_test::uneven_grid(100, 20, 1);
  starling_test::add_devices(s, 2, 2);
  const plan p = balance::make_balancer(GetParam())->balance(s);
  EXPECT_GT(p.before.imbalance(), 2);
  EXPECT_LT(p.after.imbalance(), 1.05);
}

INSTANTIATE_TEST_SUITE_P(all, many_elements,
                         testing::Values("greedy", "refine", "curve", "bisection", "communication",
                                         "diffusion", "hierarchical"),
                         name_of_pattern);

}  // namespace
