// SPDX-License-Identifier: Apache-2.0
// Channels whose ends migrate: order and identity of all data; within a rank what delays a
// departure, ends that are made again, destruction.
#include <algorithm>
#include <array>
#include <random>
#include <string>

#include <gtest/gtest.h>

#include <starling/core.hpp>
#include <starling/objects.hpp>

#include "channel_pals.hpp"
#include "on_ranks.hpp"

namespace starling {
namespace {

using starling_test::cluster;
using starling_test::heard_by;
using starling_test::many;
using starling_test::message_of;
using starling_test::over_ucx;
using starling_test::pal;
using starling_test::place_after;
using starling_test::stay_in_place;

class channels_of_migrating_elements : public starling_test::on_ranks {};
INSTANTIATE_TEST_SUITE_P(on, channels_of_migrating_elements,
                         testing::Values(cluster{1, 1}, cluster{1, 2}, cluster{1, 3}, cluster{1, 4},
                                         cluster{2, 1}, cluster{2, 2}, cluster{3, 1},
                                         cluster{3, 1, "refuse"}, cluster{2, 1, "stage"},
                                         over_ucx({2, 1})),
                         starling_test::ranks_name);
class channels_within_a_rank : public starling_test::on_ranks {};
INSTANTIATE_TEST_SUITE_P(on, channels_within_a_rank, testing::Values(cluster{1, 2}, cluster{1, 3}),
                         starling_test::ranks_name);

TEST_P(channels_of_migrating_elements, keep_all_data_in_order_while_both_ends_migrate) {
  const int workers = int(GetParam().workers) * GetParam().ranks;
  int migrations = 0;
  for (unsigned seed = 0; seed < unsigned(many(20, 3)); ++seed) {
    const auto both = create_array<pal>(rt, 2, placement::round_robin);
    const auto run = [](chare_array<pal> a, int w, unsigned by) -> task<int> {
      std::mt19937 random(by);
      std::array<int, 2> given{}, taken{};
      for (int step = 0; step < 200; ++step) {
        const int i = int(random() % 2), k = int(random() % 3);
        const int what = int(random() % 4);
        if (what == 0) {
          a[i].invoke<&pal::give>(k);
          given[std::size_t(i)] += k;
        } else if (what == 1) {
          a[i].invoke<&pal::take>(k);
          taken[std::size_t(i)] += k;
        } else {
          a[i].invoke<&pal::go>(int(random() % unsigned(w)));
        }
        if (random() % 8 == 0) co_await yield();
      }
      for (const int i : {0, 1}) {
        const int missing = given[std::size_t(i)] - taken[std::size_t(1 - i)];
        if (missing > 0)
          a[1 - i].invoke<&pal::take>(missing);
        else
          a[i].invoke<&pal::give>(-missing);
      }
      co_await quiescence();
      int count_of_migrations = 0;
      for (const int i : {0, 1}) {
        const int count = std::max(given[std::size_t(1 - i)], taken[std::size_t(i)]);
        const bool is_right = co_await a[i].call<&pal::has_all_in_order>(count);
        EXPECT_TRUE(is_right) << "seed " << by << ", element " << i << ": "
                              << co_await a[i].call<&pal::heard>();
        count_of_migrations += co_await a[i].call<&pal::migrations>();
      }
      a.destroy();
      co_await quiescence();
      co_return count_of_migrations;
    };
    migrations += rt.sync_wait(run(both, workers, seed));
  }
  if (workers > 1) {
    EXPECT_GT(migrations, 0);
  }
}

TEST_P(channels_within_a_rank, a_send_in_progress_delays_the_departure) {
  stay_in_place(rt, "names the workers");
  const auto both = create_array<pal>(rt, 2, placement::round_robin);
  rt.sync_wait([](chare_array<pal> a) -> task<> {
    a[0].invoke<&pal::begin_send>();
    EXPECT_EQ((co_await place_after(a, 0, 1)), 0);
    a[1].invoke<&pal::take>(1);
    EXPECT_EQ((co_await heard_by(a, 1)), "0 ");
    EXPECT_EQ((co_await a[0].call<&pal::place>()), 1);
  }(both));
}

TEST_P(channels_within_a_rank, a_receive_that_has_begun_moves_with_its_element) {
  stay_in_place(rt, "names the workers");
  const auto both = create_array<pal>(rt, 2, placement::round_robin);
  rt.sync_wait([](chare_array<pal> a) -> task<> {
    a[0].invoke<&pal::begin_receive>();
    EXPECT_EQ((co_await place_after(a, 0, 1)), 1);
    a[1].invoke<&pal::give>(1);
    a[0].invoke<&pal::end_receive>();
    EXPECT_EQ((co_await heard_by(a, 0)), "0 ");
  }(both));
}

TEST_P(channels_within_a_rank, data_that_wait_for_a_receive_move_with_its_element) {
  stay_in_place(rt, "names the workers");
  const auto both = create_array<pal>(rt, 2, placement::round_robin);
  rt.sync_wait([](chare_array<pal> a) -> task<> {
    a[0].invoke<&pal::give>(3);
    co_await quiescence();
    EXPECT_EQ((co_await place_after(a, 1, 0)), 0);
    EXPECT_EQ((co_await place_after(a, 0, 1)), 1);
    a[0].invoke<&pal::give>(2);
    a[1].invoke<&pal::take>(5);
    EXPECT_EQ((co_await heard_by(a, 1)), "0 1 2 3 4 ");
  }(both));
}

TEST_P(channels_within_a_rank, ends_may_be_made_again_after_a_migration) {
  stay_in_place(rt, "after a migration, data of a new end may overtake those of the former end");
  const auto both = create_array<pal>(rt, 2, placement::round_robin);
  rt.sync_wait([](chare_array<pal> a) -> task<> {
    a[0].invoke<&pal::give>(2);
    a[1].invoke<&pal::take>(2);
    co_await quiescence();
    for (const int i : {0, 1}) a[i].invoke<&pal::go>(1 - i);
    co_await quiescence();
    a[1].invoke<&pal::disconnect>();
    co_await quiescence();
    a[0].invoke<&pal::give>(2);  // for an end that does not exist
    co_await quiescence();
    a[1].invoke<&pal::connect>();
    a[0].invoke<&pal::give>(1);
    a[0].invoke<&pal::disconnect>();
    a[0].invoke<&pal::connect>();
    a[0].invoke<&pal::give>(2);
    a[1].invoke<&pal::take>(5);
    EXPECT_EQ((co_await heard_by(a, 1)), "0 1 2 3 4 5 6 ");
  }(both));
}

TEST_P(channels_within_a_rank, offers_without_a_channel_find_their_element) {
  const auto both = create_array<pal>(rt, 2, placement::round_robin);
  rt.sync_wait([](chare_array<pal> a) -> task<> {
    for (int n = 0; n < 20; ++n) {
      for (const int i : {0, 1}) a[i].invoke<&pal::go>(n / (i + 1) % 2);
      co_await a[0].call<&pal::begin_offer>(a[1]);
    }
    const bool is_right = co_await a[1].call<&pal::has_all_in_order>(20);
    EXPECT_TRUE(is_right) << co_await a[1].call<&pal::heard>();
  }(both));
}

TEST_P(channels_within_a_rank, end_their_waits_when_a_migrated_element_is_destroyed) {
  const auto both = create_array<pal>(rt, 2, placement::round_robin);
  rt.sync_wait([](chare_array<pal> a) -> task<> {
    a[0].invoke<&pal::go>(1);
    co_await quiescence();
    auto cancelled = a[0].call<&pal::is_cancelled>();
    a[0].destroy();
    EXPECT_TRUE(co_await std::move(cancelled));
  }(both));
}

TEST_P(channels_within_a_rank, data_that_a_destroyed_migrated_element_leaves_are_an_error) {
  const auto both = create_array<pal>(rt, 2, placement::round_robin);
  const std::string text = message_of<entry_error>([&] {
    rt.sync_wait([](chare_array<pal> a) -> task<> {
      a[1].invoke<&pal::go>(0);
      a[0].invoke<&pal::give>(1);
      co_await quiescence();
      a[1].destroy();
      co_await quiescence();
    }(both));
  });
  EXPECT_NE(text.find("pal[1].channel: destroyed with a message"), std::string::npos) << text;
}

}  // namespace
}  // namespace starling
