// SPDX-License-Identifier: Apache-2.0
// Bound arrays: followers that delay or prevent a departure, destroyed partners, and wrong calls.
#include <atomic>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <starling/core.hpp>
#include <starling/objects.hpp>
#include <starling/objects/balance.hpp>

#include "bound_teams.hpp"
#include "named_array.hpp"
#include "support/scratch_folder.hpp"

namespace starling {
namespace {

using namespace starling_test;

class bound_limits : public starling_test::on_ranks {
 protected:
  [[nodiscard]] int workers() { return int(total_worker_count(rt)); }
};
INSTANTIATE_TEST_SUITE_P(on, bound_limits,
                         testing::Values(cluster{1, 1}, cluster{1, 2}, cluster{1, 4}, cluster{2, 1},
                                         cluster{2, 2}, cluster{3, 1}, over_ucx({2, 1})),
                         starling_test::ranks_name);

TEST_P(bound_limits, a_follower_that_waits_otherwise_delays_both) {
  stay_in_place(rt, "names the workers");
  const teams t = make_teams(rt);
  const auto gates = create_array<gate>(rt, 1, placement::block);
  rt.sync_wait([](teams t, chare_array<gate> gates, int last) -> task<> {
    co_await quiescence();
    for (int i = 0; i < pairs; ++i) {
      const int home = co_await t.leaders[i].call<&cart::place>();
      t.followers[i].invoke<&horse::wait_at>(gates[0]);
      co_await quiescence();
      t.leaders[i].invoke<&cart::go>(last);
      co_await quiescence();
      EXPECT_EQ(co_await t.leaders[i].call<&cart::place>(), home) << i;
      EXPECT_EQ(co_await t.followers[i].call<&horse::place>(), home) << i;
      gates[0].invoke<&gate::open>();
      co_await quiescence();
      EXPECT_EQ(co_await t.leaders[i].call<&cart::place>(), last) << i;
      EXPECT_EQ(co_await t.followers[i].call<&horse::place>(), last) << i;
    }
    t.followers.invoke<&horse::at_point>();  // completes, as no leader is to depart
    co_await quiescence();
    static_cast<void>(co_await check_pairs(t.leaders, t.followers));
  }(t, gates, workers() - 1));
}

TEST_P(bound_limits, a_follower_leaves_its_rank_at_its_migration_point) {
  stay_in_place(rt, "names the workers");
  const teams t = make_teams(rt);
  rt.sync_wait([](teams t, int last) -> task<> {
    t.followers.invoke<&horse::read_and_pass>();
    co_await quiescence();
    for (int i = 0; i < pairs; ++i) t.leaders[i].invoke<&cart::go>(last);
    co_await quiescence();
    static_cast<void>(co_await check_pairs(t.leaders, t.followers));
    t.followers.invoke<&horse::letter>(1);
    co_await quiescence();
    static_cast<void>(co_await check_pairs(t.leaders, t.followers));
    for (int i = 0; i < pairs; ++i) {
      EXPECT_EQ(co_await t.leaders[i].call<&cart::place>(), last) << i;
      EXPECT_EQ(co_await t.followers[i].call<&horse::place>(), last) << i;
      EXPECT_EQ(co_await t.followers[i].call<&horse::passes>(), 1) << i;
    }
  }(t, workers() - 1));
}

std::atomic<int> s_anchored{0};

/// Assigns the elements that may leave their workers in turn.
struct in_turn_if_free final : balance::balancer {
  std::string_view name() const noexcept override { return "in turn if free"; }

 protected:
  void assign(const balance::snapshot& s, std::vector<std::uint32_t>& to) const override {
    for (std::size_t i = 0; i < s.elements.size(); ++i)
      if (s.elements[i].is_anchored)
        ++s_anchored;
      else
        to[i] = std::uint32_t(i % s.workers.size());
  }
};

TEST_P(bound_limits, a_follower_that_waits_otherwise_anchors_its_leader_for_balancers) {
  stay_in_place(rt, "names the workers");
  s_anchored = 0;
  const auto t =
      create_bound_arrays<cart, horse>(rt, pairs, on_worker_0(), std::tuple(0, workers()));
  t.leaders.balance_by(std::make_unique<in_turn_if_free>(), 1);
  const auto gates = create_array<gate>(rt, 1, placement::block);
  rt.sync_wait([](teams t, chare_array<gate> gates, int workers) -> task<> {
    t.followers[1].invoke<&horse::wait_at>(gates[0]);
    co_await quiescence();
    t.leaders.invoke<&cart::balance_now>();
    co_await quiescence();
    for (int i = 0; i < pairs; ++i) {
      const int expected = i == 1 ? 0 : i % workers;
      EXPECT_EQ(co_await t.leaders[i].call<&cart::place>(), expected) << i;
      EXPECT_EQ(co_await t.followers[i].call<&horse::place>(), expected) << i;
    }
    gates[0].invoke<&gate::open>();
    co_await quiescence();
  }(t, gates, workers()));
  EXPECT_EQ(s_anchored, workers() > 1 ? 1 : 0);
}

TEST(reports_of_bound_arrays, name_the_follower_that_anchors_its_leader) {
  const scratch_folder folder;
  const std::string file = folder.path() + "/report.json";
  runtime_options options = options_with(2);
  options.extra["balance-report"] = file;
  {
    runtime rt(options);
    stay_in_place(rt, "names the workers");
    const auto t = create_bound_arrays<cart, horse>(rt, 2, on_worker_0(), std::tuple(0, 2));
    t.leaders.balance_by(balance::make_balancer("greedy"), 1);
    const auto gates = create_array<gate>(rt, 1, placement::block);
    rt.sync_wait([](teams t, chare_array<gate> gates) -> task<> {
      t.followers[1].invoke<&horse::wait_at>(gates[0]);
      co_await quiescence();
      t.leaders.invoke<&cart::balance_now>();
      co_await quiescence();
      gates[0].invoke<&gate::open>();
      co_await quiescence();
    }(t, gates));
  }
  std::ifstream in(file);
  const std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  EXPECT_NE(text.find("horse[1], which is bound to it, cannot migrate"), std::string::npos) << text;
}

TEST_P(bound_limits, a_follower_may_not_choose_its_worker) {
  for (const bool balances : {false, true}) {
    const teams t = make_teams(rt);
    const std::string text = message_of<usage_error>([&] {
      rt.sync_wait([](teams t, bool balances) -> task<> {
        if (balances)
          co_await t.followers[2].call<&horse::balance_now>();
        else
          co_await t.followers[2].call<&horse::go>(0);
      }(t, balances));
    });
    EXPECT_NE(text.find("horse[2] is bound to the array"), std::string::npos) << text;
    EXPECT_NE(text.find("its element with the same index calls it"), std::string::npos) << text;
  }
}

TEST_P(bound_limits, a_partner_remains_when_the_other_one_is_destroyed) {
  stay_in_place(rt, "names the workers");
  const teams t = make_teams(rt);
  rt.sync_wait([](teams t, int workers) -> task<> {
    for (int i = 0; i < pairs; ++i) t.leaders[i].invoke<&cart::go>((i + 1) % workers);
    co_await quiescence();
    static_cast<void>(co_await check_pairs(t.leaders, t.followers));
    t.leaders[0].destroy();
    t.followers[1].destroy();
    co_await quiescence();
    EXPECT_FALSE(co_await t.followers[0].call<&horse::has_leader>());
    EXPECT_EQ(co_await t.followers[0].call<&horse::place>(), 1 % workers);
    co_await t.followers[0].call<&horse::at_point>();
    for (int to = 0; to < workers; ++to) {
      t.leaders[1].invoke<&cart::go>(to);
      co_await quiescence();
      EXPECT_EQ(co_await t.leaders[1].call<&cart::place>(), to);
    }
    t.followers.destroy();
    t.leaders[2].invoke<&cart::go>(workers - 1);
    co_await quiescence();
    EXPECT_EQ(co_await t.leaders[2].call<&cart::place>(), workers - 1);
  }(t, workers()));
}

/// A follower that cannot leave its rank.
struct anchor_stone : chare<anchor_stone> {};

TEST_P(bound_limits, a_follower_that_cannot_leave_its_rank_keeps_its_leader_there) {
  const auto t = create_bound_arrays<cart, anchor_stone>(rt, pairs, placement::block,
                                                         std::tuple(0, workers()));
  const auto go = [&] {
    rt.sync_wait([](chare_array<cart> carts, int last) -> task<> {
      co_await carts[0].call<&cart::go>(last);
    }(t.leaders, workers() - 1));
  };
  if (GetParam().ranks == 1) return go();
  const std::string text = message_of<usage_error>(go);
  EXPECT_NE(text.find("cart[0] cannot migrate to another rank: the class of its follower, "),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("anchor_stone, needs a public serialize"), std::string::npos) << text;
}

TEST(bound_arrays_of_no_elements, are_refused) {
  runtime rt(starling_test::options_with(1));
  EXPECT_THROW(static_cast<void>(
                   (create_bound_arrays<cart, horse>(rt, 0, placement::block, std::tuple(0, 1)))),
               usage_error);
}

std::atomic<int> s_packed{0};  // followers that were sent to another rank

struct cargo : chare<cargo> {
  template <class Archive>
  void serialize(Archive& ar) {
    ar(m_named);
    if constexpr (!Archive::is_reading) ++s_packed;
  }
  void name(std::uint64_t id) { m_named.id = id; }
  int place() { return int(this_worker()); }
  std::uint64_t make_array() {
    return create_array<gate>(*runtime::current(), 3, placement::block).state().id();
  }

 private:
  named_array m_named;
};

/// Holds a call, behind a message of the home that has not arrived.
struct carrier : chare<carrier> {
  template <class Archive>
  void serialize(Archive&) {}
  void go(int to) { migrate_to(std::size_t(to)); }
  void nothing() {}
  int value() { return 42; }
  int place() { return int(this_worker()); }
  void hold(callback<int> to) {
    promise<int> reply;
    std::move(to).deliver(1);
    m_answer.emplace(reply.get_future());
    detail::array_of<carrier>& array = this_array().state();
    const detail::address<carrier> here{&array.local(0), std::uint32_t(this_index())};
    using call = detail::entry_message<&carrier::value, carrier, promise<int>>;
    const detail::ticket at{
        .home_number = array.entry(0, here.to).homed[std::size_t(priority::high)] + 2,
        .priority = priority::high};
    auto& kept = *new detail::tracked_message<carrier>(here, *new call(here, std::move(reply)), at,
                                                       detail::functions_of<carrier, call>);
    kept.queued().home = here.local->home;
    EXPECT_TRUE(element_state().tracked->order.add(kept));
  }
  static std::optional<future<int>> m_answer;
};
std::optional<future<int>> carrier::m_answer;

TEST(bound_arrivals, are_repeated_if_the_follower_names_an_array_that_does_not_exist_yet) {
  s_packed = 0;
  cluster{3, 1}.expect(0, [](runtime& rt) -> task<int> {
    stay_in_place(rt, "names the workers");
    const auto all = create_bound_arrays<carrier, cargo>(rt, 3, placement::block);
    const detail::object_id next = (detail::object_id{2} << detail::object_counter_bits) + 1;
    for (const int to : {1, 0}) {  // so that they are tracked, and back
      all.leaders[0].invoke<&carrier::go>(to);
      co_await quiescence();
    }
    auto [to, held] = make_reply<int>();
    all.leaders[0].invoke<&carrier::hold>(to);
    EXPECT_EQ(co_await std::move(held), 1);
    all.followers[0].invoke<&cargo::name>(next);
    co_await all.followers[0].call<&cargo::place>();
    const int packed = s_packed;
    all.leaders[0].invoke<&carrier::go>(1);
    while (s_packed == packed) co_await yield();
    EXPECT_EQ(co_await all.leaders[1].call<&carrier::place>(), 1);  // behind the elements
    EXPECT_FALSE(carrier::m_answer->is_ready());
    EXPECT_EQ(co_await all.followers[2].call<&cargo::make_array>(), next);
    all.leaders.urgent()[0].invoke<&carrier::nothing>();  // the message for which the call waits
    EXPECT_EQ(co_await std::move(*carrier::m_answer), 42);
    EXPECT_EQ(co_await all.leaders[0].call<&carrier::place>(), 1);
    EXPECT_EQ(co_await all.followers[0].call<&cargo::place>(), 1);
    co_return 0;
  });
  carrier::m_answer.reset();
}

}  // namespace
}  // namespace starling
