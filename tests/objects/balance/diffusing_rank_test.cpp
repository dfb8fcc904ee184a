// SPDX-License-Identifier: Apache-2.0
// Diffusive balancing between ranks, with the ranks of a job as objects of one test.
#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <utility>

#include <gtest/gtest.h>

#include <starling/core/error.hpp>

#include "objects/balance/diffusing_rank.hpp"
#include "synthetic_loads.hpp"

namespace {

namespace balance = starling::balance;
using balance::diffusing_element, balance::diffusing_rank, balance::estimate, balance::rank_loads,
    balance::snapshot, balance::worker_place;
using starling_test::numbers;

/// All ranks of a snapshot. The workers in the snapshot must be sorted by rank.
class ranks {
 public:
  explicit ranks(const snapshot& s) {
    std::vector<std::vector<diffusing_element>> elements(s.rank_count());
    for (std::uint32_t i = 0; i < s.elements.size(); ++i) {
      const auto& e = s.elements[i];
      elements[s.workers[e.worker].rank].push_back(
          {e.worker, i, e.host_seconds, e.device_seconds, e.state_bytes, e.device_bytes,
           e.is_anchored, e.is_bound_to_rank, balance::reason::host_load});
    }
    for (std::uint32_t first = 0; first < s.workers.size();) {
      const std::uint32_t rank = s.workers[first].rank, begin = first;
      std::vector<worker_place> places;
      for (; first < s.workers.size() && s.workers[first].rank == rank; ++first) {
        places.push_back({});
        if (const std::uint32_t d = s.workers[first].device; d != balance::no_device)
          places.back() = {d + 1, s.devices[d].memory_bytes};
      }
      m_ranks.emplace_back(begin, std::move(places), std::move(elements[rank]));
    }
    std::vector<rank_loads> all;
    for (const diffusing_rank& r : m_ranks) all.push_back(r.loads_before());
    m_before = balance::estimate_of(all);
    const auto shares = balance::shares_of(all);
    for (std::size_t r = 0; r < all.size(); ++r) m_ranks[r].set_shares(shares[r]);
  }

  [[nodiscard]] const estimate& before() const { return m_before; }

  /// Does all rounds of diffusion, each rank in turn.
  void exchange(unsigned rounds) {
    const auto count = std::uint32_t(m_ranks.size());
    for (unsigned round = 0; round < rounds; ++round) {
      std::vector<balance::diffusing_load> loads;
      for (const diffusing_rank& r : m_ranks) loads.push_back(r.load());
      std::vector<std::vector<diffusing_element>> arrived(count);
      for (std::uint32_t r = 0; r < count; ++r) {
        const auto [up, down] = balance::diffusion::partners(r, count, round);
        send(arrived[up], m_ranks[r].give(loads[r], loads[up], up == down ? 2 : 1));
        if (up != down) send(arrived[down], m_ranks[r].give(loads[r], loads[down], 1));
      }
      for (std::uint32_t r = 0; r < count; ++r) m_ranks[r].take(arrived[r]);
    }
  }

  struct outcome {
    estimate after;
    std::map<std::uint32_t, std::uint32_t> worker_of;  // by slot, of elements that migrate
    std::vector<diffusing_rank::result> ranks;
  };
  [[nodiscard]] outcome place(const balance::cost_model& costs = {}) const {
    outcome all;
    std::vector<rank_loads> loads;
    std::size_t arrived = 0, left = 0;
    for (const diffusing_rank& r : m_ranks) {
      all.ranks.push_back(r.place(costs, m_before.ideal_seconds, 0.02));
      loads.push_back(all.ranks.back().loads);
      arrived += all.ranks.back().arrived.size();
      left += all.ranks.back().left;
      for (const auto* moves : {&all.ranks.back().arrived, &all.ranks.back().moved})
        for (const auto& d : *moves)
          EXPECT_TRUE(all.worker_of.emplace(d.slot, d.to).second) << "two destinations";
    }
    EXPECT_EQ(arrived, left) << "elements got lost";
    all.after = balance::estimate_of(loads);
    return all;
  }

 private:
  static void send(std::vector<diffusing_element>& to,
                   const std::vector<diffusing_element>& given) {
    to.insert(to.end(), given.begin(), given.end());
  }
  std::vector<diffusing_rank> m_ranks;
  estimate m_before;
};

std::vector<std::uint32_t> workers_after(const snapshot& s, const ranks::outcome& found) {
  std::vector<std::uint32_t> worker_of = balance::current_workers(s);
  for (const auto& [element, to] : found.worker_of) worker_of.at(element) = to;
  return worker_of;
}

/// Both estimates must be those of the whole snapshot.
void expect_estimates(const snapshot& s, const ranks& all, const ranks::outcome& found) {
  const auto expect_same = [](const estimate& a, const estimate& b) {
    EXPECT_NEAR(a.host_seconds, b.host_seconds, 1e-9 * b.host_seconds);
    EXPECT_NEAR(a.device_seconds, b.device_seconds, 1e-9 * b.device_seconds);
    EXPECT_NEAR(a.ideal_seconds, b.ideal_seconds, 1e-9 * b.ideal_seconds);
    EXPECT_EQ(a.overfull_bytes, b.overfull_bytes);
  };
  expect_same(all.before(), balance::estimate_step(s, balance::current_workers(s)));
  expect_same(found.after, balance::estimate_step(s, workers_after(s, found)));
}

snapshot spread(std::uint32_t rank_count, std::uint32_t workers_each, const std::string& pattern) {
  snapshot s = starling_test::patterned(pattern, rank_count * workers_each, 50, 17);
  for (std::uint32_t w = 0; w < s.workers.size(); ++w) s.workers[w].rank = w / workers_each;
  return s;
}

TEST(diffusing_ranks, come_near_the_ideal_in_thirty_rounds) {
  for (const char* pattern : {"hotspot", "gradient", "random"})
    for (const auto& [count, workers] :
         {std::pair{2u, 4u}, std::pair{7u, 4u}, std::pair{64u, 1u}, std::pair{200u, 2u}}) {
      const snapshot s = spread(count, workers, pattern);
      ranks all(s);
      EXPECT_GT(all.before().imbalance(), 1.05);
      all.exchange(30);
      const auto found = all.place();
      expect_estimates(s, all, found);
      EXPECT_LT(found.after.imbalance(), 1.05) << pattern << ", " << count << " ranks";
    }
}

TEST(diffusing_ranks, leave_equal_loads_alone) {
  snapshot s = spread(4, 2, "gradient");
  for (auto& e : s.elements) e.host_seconds = 1;
  ranks all(s);
  all.exchange(8);
  EXPECT_TRUE(all.place().worker_of.empty());
}

TEST(diffusing_ranks, keep_anchored_elements_and_those_bound_to_their_rank) {
  snapshot s = spread(3, 2, "hotspot");
  for (std::uint32_t i = 0; i < s.elements.size(); ++i) {
    s.elements[i].is_anchored = i % 3 == 0;
    s.elements[i].is_bound_to_rank = i % 3 == 1;
    if (s.elements[i].worker == 0) s.elements[i].host_seconds = 20;
  }
  ranks all(s);
  all.exchange(8);
  const auto found = all.place();
  expect_estimates(s, all, found);
  EXPECT_FALSE(found.worker_of.empty());
  unsigned within_rank = 0;
  for (const auto& [element, to] : found.worker_of) {
    EXPECT_FALSE(s.elements[element].is_anchored);
    if (!s.elements[element].is_bound_to_rank) continue;
    EXPECT_EQ(s.workers[to].rank, s.workers[s.elements[element].worker].rank);
    ++within_rank;
  }
  EXPECT_GT(within_rank, 0u);
}

/// Four ranks with two workers each; the first three have a device each.
snapshot with_devices() {
  snapshot s = starling_test::grid_of(16, 8);
  s.devices.resize(3);
  for (std::uint32_t w = 0; w < 8; ++w)
    s.workers[w] = {w / 2, w / 2 < 3 ? w / 2 : balance::no_device};
  numbers random(5);
  for (auto& e : s.elements) {
    e.host_seconds = 0.5 + random();
    if (s.workers[e.worker].device == balance::no_device) continue;
    e.device_seconds = (s.workers[e.worker].rank == 0 ? 8 : 1) * (0.5 + random());
    e.device_bytes = 100;
  }
  return s;
}

TEST(diffusing_ranks, balance_both_loads_and_send_no_kernel_to_a_rank_without_a_device) {
  const snapshot s = with_devices();
  ranks all(s);
  EXPECT_GT(all.before().imbalance(), 2);
  all.exchange(16);
  const auto found = all.place();
  expect_estimates(s, all, found);
  EXPECT_LT(found.after.imbalance(), 1.1);
  for (const auto& [element, to] : found.worker_of)
    EXPECT_TRUE(s.elements[element].device_bytes == 0 ||
                s.workers[to].device != balance::no_device);
}

TEST(diffusing_ranks, never_exceed_the_memory_of_a_device) {
  snapshot s = with_devices();
  s.devices[1].memory_bytes = s.devices[2].memory_bytes = 64 * 100 + 350;  // room for 3 elements
  ranks all(s);
  all.exchange(16);
  const auto found = all.place();
  expect_estimates(s, all, found);
  EXPECT_EQ(found.after.overfull_bytes, 0u);
  EXPECT_FALSE(found.worker_of.empty());
}

TEST(diffusing_ranks, relieve_an_overfull_device) {
  snapshot s = with_devices();
  for (auto& e : s.elements) e.host_seconds = e.device_seconds = e.device_bytes > 0 ? 1 : 0;
  s.devices[0].memory_bytes = 50 * 100;  // 64 elements are there
  ranks all(s);
  EXPECT_EQ(all.before().overfull_bytes, 1400u);
  all.exchange(8);
  const auto found = all.place();
  expect_estimates(s, all, found);
  EXPECT_EQ(found.after.overfull_bytes, 0u);
}

/// Four ranks with two workers each, of which two share a device, and equal loads. `bytes`: device
/// memory of each element, by rank.
snapshot with_shared_devices(const std::array<std::uint64_t, 4>& bytes) {
  snapshot s = with_devices();
  s.devices.resize(2);
  for (auto& w : s.workers) w.device = w.rank / 2;
  for (auto& e : s.elements) {
    e.host_seconds = e.device_seconds = 1;
    e.device_bytes = bytes[s.workers[e.worker].rank];
  }
  return s;
}

TEST(diffusing_ranks, relieve_a_device_that_other_ranks_fill_too) {
  snapshot s = with_shared_devices({100, 100, 10, 10});
  s.devices[0].memory_bytes = 100 * 100;  // 128 elements of 100 bytes are there
  ranks all(s);
  EXPECT_EQ(all.before().overfull_bytes, 2800u);
  all.exchange(8);
  const auto found = all.place();
  expect_estimates(s, all, found);
  EXPECT_EQ(found.after.overfull_bytes, 0u);
  unsigned for_memory = 0;
  for (const auto& r : found.ranks)
    for (const auto& d : r.arrived) for_memory += d.why == balance::reason::device_memory;
  EXPECT_GE(for_memory, 28u);
}

TEST(diffusing_ranks, leave_a_shared_device_alone_that_has_memory_for_all) {
  snapshot s = with_shared_devices({60, 10, 60, 10});
  s.devices[0].memory_bytes = s.devices[1].memory_bytes = 64 * 70 + 6;
  ranks all(s);
  all.exchange(8);
  EXPECT_TRUE(all.place().worker_of.empty());
}

TEST(diffusing_ranks, send_no_element_that_no_single_device_has_memory_for) {
  snapshot s;
  s.devices.resize(5);
  for (std::uint32_t w = 0; w < 5; ++w) s.workers.push_back({w == 0 ? 0u : 1u, w});
  for (std::uint32_t i = 0; i < 12; ++i)
    s.elements.push_back(
        {.id = i, .worker = i % 3 == 0 ? 1 + i / 3 : 0, .host_seconds = 1, .device_bytes = 40});
  for (std::uint32_t d = 1; d < 5; ++d) s.devices[d].memory_bytes = 60;  // 20 bytes are free
  ranks all(s);
  all.exchange(8);
  const auto found = all.place();
  EXPECT_EQ(found.after.overfull_bytes, 0u);
  EXPECT_TRUE(found.worker_of.empty());
  for (std::uint32_t d = 1; d < 5; ++d) s.devices[d].memory_bytes = 130;  // 90 bytes are free
  ranks again(s);
  again.exchange(8);
  const auto spread = again.place();
  expect_estimates(s, again, spread);
  EXPECT_EQ(spread.after.overfull_bytes, 0u);
  EXPECT_EQ(spread.worker_of.size(), 2u);
}

TEST(diffusing_ranks, refuse_impossible_loads) {
  for (const double load : {-1.0, std::numeric_limits<double>::quiet_NaN()}) {
    snapshot s = spread(2, 1, "random");
    s.elements[3].host_seconds = load;
    EXPECT_THROW(ranks{s}, starling::usage_error);
  }
}

TEST(diffusing_ranks, that_share_a_device_exchange_no_device_load) {
  snapshot s = with_devices();
  s.devices.resize(1);
  for (auto& w : s.workers) w.device = 0;
  for (auto& e : s.elements) {
    e.host_seconds = 1;
    e.device_seconds = s.workers[e.worker].rank == 0 ? 8 : 1;
  }
  ranks all(s);
  all.exchange(8);
  EXPECT_TRUE(all.place().worker_of.empty());
}

TEST(diffusing_ranks, add_up_the_cost_of_migrations_at_both_ends) {
  snapshot s;
  s.workers = {{0}, {1}};
  for (std::uint32_t i = 0; i < 4; ++i)
    s.elements.push_back({.id = i, .worker = 0, .host_seconds = 1, .state_bytes = 1000});
  ranks all(s);
  all.exchange(4);
  const auto found = all.place({.seconds_per_migration = 3, .seconds_per_byte = 0.01});
  ASSERT_EQ(found.worker_of.size(), 2u);
  EXPECT_EQ(found.ranks[0].left, 2u);
  EXPECT_DOUBLE_EQ(found.ranks[0].cost_seconds, 2 * (3 + 10));
  EXPECT_DOUBLE_EQ(found.ranks[1].cost_seconds, 2 * (3 + 10));
  EXPECT_EQ(found.ranks[0].bytes, 0u);
  EXPECT_EQ(found.ranks[1].bytes, 2000u);
  EXPECT_DOUBLE_EQ(found.after.step_seconds, 2);
}

TEST(diffusing_ranks, give_the_same_result_each_time) {
  const snapshot s = spread(5, 3, "random");
  ranks one(s), other(s);
  one.exchange(12);
  other.exchange(12);
  EXPECT_EQ(one.place().worker_of, other.place().worker_of);
}

}  // namespace
