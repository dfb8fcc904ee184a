// SPDX-License-Identifier: Apache-2.0
// Bound arrays: elements with the same index that migrate together.
#include <atomic>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <starling/core.hpp>
#include <starling/objects.hpp>
#include <starling/objects/balance.hpp>

#include "bound_teams.hpp"

namespace starling {
namespace {

using namespace starling_test;

class bound : public starling_test::on_ranks {
 protected:
  [[nodiscard]] int workers() { return int(total_worker_count(rt)); }
};
INSTANTIATE_TEST_SUITE_P(on, bound,
                         testing::Values(cluster{1, 1}, cluster{1, 2}, cluster{1, 4}, cluster{2, 1},
                                         cluster{2, 2}, cluster{3, 1}, over_ucx({2, 1})),
                         starling_test::ranks_name);

struct speaker : chare<speaker> {
  /// Sends messages of all kinds to all leaders and followers.
  task<> say(chare_array<cart> carts, chare_array<horse> horses, int count) {
    for (int n = 0; n < count; ++n) {
      if (n % 4 == 0) carts.invoke<&cart::take>(this_index(), n);
      if (n % 4 == 0) horses.invoke<&horse::take>(this_index(), n);
      for (int i = 0; i < pairs && n % 4 == 1; ++i) {
        carts[i].invoke<&cart::begun>(this_index(), n);
        horses[i].invoke<&horse::begun>(this_index(), n);
      }
      for (int i = 0; i < pairs && n % 4 >= 2; ++i) {
        horses[i].invoke<&horse::take>(this_index(), n);
        carts[i].invoke<&cart::take>(this_index(), n);
      }
      if (n % 7 == 0) co_await yield();
    }
  }
};

TEST_P(bound, partners_meet_at_every_message_and_none_is_lost) {
  const int count = many(150, 30);
  for (const int every : {7, 1}) {
    const teams t = make_teams(rt, placement::round_robin, every);
    const auto from = create_array<speaker>(rt, senders, placement::block);
    rt.sync_wait([](chare_array<speaker> from, teams t, int count, int workers) -> task<> {
      for (int i = 0; i < pairs; ++i) t.leaders[i].invoke<&cart::go>((i + 1) % workers);
      from.invoke<&speaker::say>(t.leaders, t.followers, count);
      co_await quiescence();
      for (int i = 0; i < pairs; ++i) t.leaders[i].invoke<&cart::go>((i + 1) % workers);
      co_await quiescence();
      const int migrations = co_await check_pairs(t.leaders, t.followers);
      EXPECT_EQ(migrations > 0, workers > 1);
      for (int i = 0; i < pairs; ++i) {
        EXPECT_TRUE(co_await t.leaders[i].call<&cart::has_all_in_order>(count)) << i;
        EXPECT_TRUE(co_await t.followers[i].call<&horse::has_all_in_order>(count)) << i;
      }
    }(from, t, count, workers()));
  }
}

TEST_P(bound, both_go_to_the_worker_that_the_leader_names) {
  stay_in_place(rt, "names the workers of the placement");
  const teams t = make_teams(rt);
  rt.sync_wait([](teams t, int workers) -> task<> {
    for (int to = 0; to < 2 * workers; ++to) {
      t.leaders[1].invoke<&cart::go>(to % workers);
      co_await quiescence();
      EXPECT_EQ(co_await t.leaders[1].call<&cart::place>(), to % workers);
      EXPECT_EQ(co_await t.followers[1].call<&horse::place>(), to % workers);
    }
    EXPECT_EQ(co_await t.leaders[1].call<&cart::migrations>(),
              co_await t.followers[1].call<&horse::migrations>());
    static_cast<void>(co_await check_pairs(t.leaders, t.followers));
  }(t, workers()));
}

TEST_P(bound, mailboxes_and_reductions_of_both_arrays_work) {
  const int rounds = many(20, 6);
  const teams t = make_teams(rt, placement::block, 1);
  std::vector<future<int>> sums;
  for (int i = 0; i < pairs; ++i) {
    sums.push_back(t.leaders[i].call<&cart::read>(rounds));
    sums.push_back(t.followers[i].call<&horse::read>(rounds));
  }
  rt.sync_wait([](teams t, int rounds, std::vector<future<int>> sums) -> task<> {
    for (int r = 0; r < rounds; ++r) {
      auto [to, sum] = make_reply<int>();
      auto [to_second, second] = make_reply<int>();
      t.leaders.invoke<&cart::give>(1, to);
      t.followers.invoke<&horse::give>(1, to_second);
      t.followers.invoke<&horse::letter>(r);
      t.leaders.invoke<&cart::letter>(r);
      EXPECT_EQ(co_await std::move(sum), pairs);
      EXPECT_EQ(co_await std::move(second), pairs);
    }
    for (auto& each : sums) EXPECT_EQ(co_await std::move(each), rounds * (rounds - 1) / 2);
    co_await quiescence();
    static_cast<void>(co_await check_pairs(t.leaders, t.followers));
  }(t, rounds, std::move(sums)));
}

std::atomic<int> s_wrong_loads{0};

/// Assigns the elements in turn.
struct in_turn final : balance::balancer {
  std::string_view name() const noexcept override { return "in turn"; }

 protected:
  void assign(const balance::snapshot& s, std::vector<std::uint32_t>& to) const override {
    for (std::size_t i = 0; i < s.elements.size(); ++i) {
      if (s.elements[i].host_seconds != 3) ++s_wrong_loads;  // 1 of the leader, 2 of the follower
      to[i] = std::uint32_t(i % s.workers.size());
    }
  }
};

TEST_P(bound, a_balancer_gets_the_sum_of_both_loads_and_moves_both) {
  stay_in_place(rt, "names the workers");
  s_wrong_loads = 0;
  const auto t =
      create_bound_arrays<cart, horse>(rt, pairs, on_worker_0(), std::tuple(0, workers()));
  t.leaders.balance_by(std::make_unique<in_turn>(), 1);
  rt.sync_wait([](teams t, int workers) -> task<> {
    t.leaders.invoke<&cart::meet>(t.followers);
    t.followers.invoke<&horse::meet>(t.leaders);
    co_await quiescence();
    t.leaders.invoke<&cart::balance_now>();
    co_await quiescence();
    static_cast<void>(co_await check_pairs(t.leaders, t.followers));
    for (int i = 0; i < pairs; ++i) {
      EXPECT_EQ(co_await t.leaders[i].call<&cart::place>(), i % workers);
      EXPECT_EQ(co_await t.followers[i].call<&horse::place>(), i % workers);
    }
  }(t, workers()));
  EXPECT_EQ(s_wrong_loads, 0);
}

}  // namespace
}  // namespace starling
