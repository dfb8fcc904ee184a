// SPDX-License-Identifier: Apache-2.0
// Channels whose ends migrate between ranks.
#include <span>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include <starling/core.hpp>
#include <starling/objects.hpp>

#include "channel_pals.hpp"
#include "on_ranks.hpp"

namespace starling {
namespace {

using starling_test::cluster;
using starling_test::heard_by;
using starling_test::over_ucx;
using starling_test::pal;
using starling_test::place_after;
using starling_test::stay_in_place;

class channels_between_ranks : public starling_test::on_ranks {};
INSTANTIATE_TEST_SUITE_P(on, channels_between_ranks,
                         testing::Values(cluster{3, 1}, cluster{3, 1, "refuse"},
                                         cluster{3, 1, "stage"}, over_ucx({3, 1})),
                         starling_test::ranks_name);
task<> wake(chare_array<pal> a, int i) {
  co_await a[i].call<&pal::take>(0);  // the end of a coroutine is an occasion to depart
  co_await quiescence();
}

TEST_P(channels_between_ranks, follow_their_elements_from_rank_to_rank) {
  const auto both = create_array<pal>(rt, 2, placement::round_robin);
  const bool is_forced = rt.service<detail::object_space>().forced().are_on();
  rt.sync_wait([](chare_array<pal> a, bool is_forced) -> task<> {
    constexpr int each = 6;  // numbers of all kinds of memory
    int given = 0;
    for (const auto& [first, second] : {std::pair(0, 1), {2, 1}, {2, 0}, {1, 1}, {0, 2}, {0, 1}}) {
      const int to[] = {first, second};
      for (const int i : {0, 1}) {
        const int at = co_await place_after(a, i, to[i]);
        EXPECT_TRUE(at == to[i] || is_forced) << at << " instead of " << to[i];
      }
      for (const int i : {0, 1}) a[i].invoke<&pal::give>(each);
      for (const int i : {0, 1}) a[i].invoke<&pal::take>(each);
      co_await quiescence();
      given += each;
      for (const int i : {0, 1}) {
        const bool is_right = co_await a[i].call<&pal::has_all_in_order>(given);
        EXPECT_TRUE(is_right) << co_await a[i].call<&pal::heard>();
      }
    }
  }(both, is_forced));
}

TEST_P(channels_between_ranks, data_that_the_partner_has_not_read_delay_the_departure) {
  stay_in_place(rt, "names the workers");
  const auto both = create_array<pal>(rt, 2, placement::round_robin);
  rt.sync_wait([](chare_array<pal> a) -> task<> {
    for (const int to : {1, 2}) {  // the sender is on the rank of the receiver first
      a[0].invoke<&pal::give>(6);
      const int before = co_await a[0].call<&pal::place>();
      EXPECT_EQ((co_await place_after(a, 0, to)), before);
      a[1].invoke<&pal::take>(6);
      co_await quiescence();
      co_await wake(a, 0);
      EXPECT_EQ((co_await a[0].call<&pal::place>()), to);
    }
    EXPECT_EQ((co_await heard_by(a, 1)), "0 1 2 3 4 5 6 7 8 9 10 11 ");
  }(both));
}

TEST_P(channels_between_ranks, data_that_wait_for_a_receive_delay_the_departure) {
  stay_in_place(rt, "names the workers");
  const auto both = create_array<pal>(rt, 2, placement::round_robin);
  rt.sync_wait([](chare_array<pal> a) -> task<> {
    a[0].invoke<&pal::give>(2);
    co_await quiescence();
    EXPECT_EQ((co_await place_after(a, 1, 2)), 1);
    a[1].invoke<&pal::take>(2);
    EXPECT_EQ((co_await heard_by(a, 1)), "0 1 ");
    EXPECT_EQ((co_await a[1].call<&pal::place>()), 2);
  }(both));
}

TEST_P(channels_between_ranks, offers_without_a_channel_find_their_element) {
  const auto both = create_array<pal>(rt, 2, placement::round_robin);
  rt.sync_wait([](chare_array<pal> a) -> task<> {
    for (int n = 0; n < 15; ++n) {
      for (const int i : {0, 1}) a[i].invoke<&pal::go>((n + n / 3 * i) % 3);
      co_await a[0].call<&pal::begin_offer>(a[1]);
    }
    co_await quiescence();
    const bool is_right = co_await a[1].call<&pal::has_all_in_order>(15);
    EXPECT_TRUE(is_right) << co_await a[1].call<&pal::heard>();
  }(both));
}

struct leading : chare<leading> {
  template <class Archive>
  void serialize(Archive&) {}
  void go(int to) { migrate_to(std::size_t(to)); }
  int place() { return int(this_worker()); }
};
struct following : chare<following> {
  following() { m_channel = {*this, this_array()[1 - this_index()]}; }
  explicit following(migrated) {}
  template <class Archive>
  void serialize(Archive& ar) {
    ar(m_channel, m_value);
  }
  void post(int value) {
    m_value = value;
    m_channel.post(std::span(&m_value, 1));
  }
  task<int> receive() {
    int value = 0;
    co_await m_channel.receive(std::span(&value, 1));
    co_return value;
  }

 private:
  chare_channel<int> m_channel;
  int m_value = 0;
};

TEST_P(channels_between_ranks, of_a_bound_element_migrate_with_both) {
  starling_test::stay_in_place(rt, "the test names the place of the element");
  auto [leaders, followers] =
      create_bound_arrays<leading, following>(rt, 2, placement::round_robin);
  rt.sync_wait([](chare_array<leading> l, chare_array<following> f) -> task<> {
    for (const int to : {2, 1, 0, 2}) {
      f[0].invoke<&following::post>(10 + to);
      const int value = co_await f[1].call<&following::receive>();
      EXPECT_EQ(value, 10 + to);
      l[0].invoke<&leading::go>(to);
      co_await quiescence();
      EXPECT_EQ((co_await l[0].call<&leading::place>()), to);
    }
  }(leaders, followers));
}

}  // namespace
}  // namespace starling
