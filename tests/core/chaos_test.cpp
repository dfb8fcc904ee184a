// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>
#include <vector>

#include "support.hpp"

namespace {

using namespace starling;
using namespace starling_test;

runtime_options chaotic(std::uint64_t seed, unsigned workers) {
  runtime_options options = options_with(workers);
  options.chaos = seed;
  return options;
}

/// Returns the order in which one worker runs forty tasks.
std::vector<int> order_under(std::uint64_t seed) {
  runtime rt(chaotic(seed, 1));
  std::vector<int> order;
  auto note = [](std::vector<int>& o, int i) -> task<> {
    o.push_back(i);
    co_return;
  };
  rt.sync_wait([](auto& f, std::vector<int>& o) -> task<> {
    std::vector<future<void>> all;
    for (int i = 0; i < 40; ++i) all.push_back(spawn(f(o, i)));
    co_await when_all(std::move(all));
  }(note, order));
  return order;
}

TEST(chaos, changes_the_order_of_tasks_but_runs_each_once) {
  std::set<std::vector<int>> orders;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    auto order = order_under(seed);
    orders.insert(order);
    std::sort(order.begin(), order.end());
    for (int i = 0; i < 40; ++i) ASSERT_EQ(order[std::size_t(i)], i);
  }
  EXPECT_GT(orders.size(), 15u);
}

TEST(chaos, keeps_pinned_tasks_on_their_worker) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    runtime rt(chaotic(seed, 3));
    auto child = []() -> task<int> {
      co_await yield();
      co_return runtime::worker_index();
    };
    auto parent = [](auto& f, int me) -> task<bool> {
      bool stayed = true;
      for (int i = 0; i < 50; ++i) stayed = stayed && co_await f() == me;
      co_return stayed;
    };
    std::vector<future<bool>> all;
    for (unsigned w = 0; w < 3; ++w)
      for (int i = 0; i < 4; ++i) all.push_back(rt.on_worker(w).spawn(parent(child, int(w))));
    for (const bool stayed : rt.sync_wait(when_all(std::move(all)))) EXPECT_TRUE(stayed) << seed;
  }
}

TEST(chaos, offers_numbers_below_a_bound_and_zero_when_off) {
  runtime rt(chaotic(7, 1));
  std::set<std::uint32_t> seen;
  for (int i = 0; i < 200; ++i) seen.insert(rt.chaos(5));
  EXPECT_EQ(seen, (std::set<std::uint32_t>{0, 1, 2, 3, 4}));
  EXPECT_EQ(rt.chaos(0), 0u);
  runtime_options off = options_with(1);
  off.chaos.reset();
  runtime calm(off);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(calm.chaos(100), 0u);
}

}  // namespace
