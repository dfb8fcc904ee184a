// SPDX-License-Identifier: Apache-2.0
// Elements that have migrated: their destruction, and sections and broadcasts beside it.
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <starling/core.hpp>
#include <starling/objects.hpp>

#include "on_ranks.hpp"

namespace starling {
namespace {

using starling_test::cluster;
using starling_test::many;
using starling_test::message_of;

class migrated_elements : public starling_test::on_ranks {};
INSTANTIATE_TEST_SUITE_P(on, migrated_elements,
                         testing::Values(cluster{1, 1}, cluster{1, 2}, cluster{1, 4}, cluster{2, 1},
                                         cluster{2, 2}, cluster{3, 1}),
                         starling_test::ranks_name);

struct waiter : chare<waiter> {
  void go(int to) { migrate_to(std::size_t(to)); }
  task<> wait_again_and_again() {
    for (;;) co_await barrier();
  }
  task<> insist() {
    try {
      co_await barrier();
    } catch (const operation_cancelled&) {
    }
    EXPECT_THROW(contribute(1, reduction::sum(), callback<int>()), operation_cancelled);
    co_await barrier();
  }
  void give(section<waiter> some, callback<int> to) { contribute(some, 1, reduction::sum(), to); }
  void nothing(int) {}
  int place() { return int(this_worker()); }
  template <class Archive>
  void serialize(Archive&) {}
};

TEST_P(migrated_elements, that_wait_for_results_can_be_destroyed) {
  const auto all = create_array<waiter>(rt, 4, placement::round_robin);
  const int workers = int(total_worker_count(rt));
  rt.sync_wait([](chare_array<waiter> l, int workers) -> task<> {
    for (int i = 0; i < 3; ++i) l[i].invoke<&waiter::go>((i + 1) % workers);
    l[0].invoke<&waiter::wait_again_and_again>();
    if (workers > 1) l[1].invoke<&waiter::insist>();
    l[2].invoke<&waiter::wait_again_and_again>();
    co_await quiescence();
    l[0].destroy();
    l[1].destroy();
    co_await quiescence();
    l.destroy();
    co_await quiescence();
    EXPECT_THROW(co_await l[2].call<&waiter::place>(), no_such_element);
  }(all, workers));
}

void give_to_section(const chare_array<waiter>& l, const callback<int>& to) {
  const auto some = make_section(l, {1, 2, 4});
  some.invoke<&waiter::give>(some, to);
}

TEST_P(migrated_elements, contribute_to_a_section_that_the_sender_drops) {
  const auto all = create_array<waiter>(rt, 5, placement::round_robin);
  const int workers = int(total_worker_count(rt));
  rt.sync_wait([](chare_array<waiter> l, int workers) -> task<> {
    for (int i = 0; i < 5; ++i) l[i].invoke<&waiter::go>((i + 1) % workers);
    co_await quiescence();
    for (int round = 0; round < 20; ++round) {
      auto [to, sum] = make_reply<int>();
      give_to_section(l, to);
      EXPECT_EQ(co_await std::move(sum), 3);
    }
  }(all, workers));
}

TEST_P(migrated_elements, that_are_destroyed_refuse_messages_behind_broadcasts) {
  const auto all = create_array<waiter>(rt, 4, placement::round_robin);
  const int workers = int(total_worker_count(rt));
  rt.sync_wait(rt.on_worker(0).spawn([](chare_array<waiter> l, int workers) -> task<> {
    for (int i = 0; i < 4; ++i) l[i].invoke<&waiter::go>((i + 1) % workers);
    co_await quiescence();
    for (int n = 0; n < 3; ++n) co_await l[2].call<&waiter::place>();
    l[2].destroy();
    co_await quiescence();
    for (int n = 0; n < 3; ++n) {
      l.invoke<&waiter::nothing>(n);
      EXPECT_THROW(co_await l[2].call<&waiter::place>(), no_such_element);
    }
  }(all, workers)));
}

TEST_P(migrated_elements, end_with_their_array_behind_the_messages_of_the_caller) {
  const int workers = int(total_worker_count(rt));
  for (int round = 0; round < many(30, 10); ++round) {
    const auto all = create_array<waiter>(rt, 5, placement::round_robin);
    rt.sync_wait(rt.on_worker(0).spawn([](chare_array<waiter> l, int workers) -> task<> {
      std::vector<future<int>> places;
      for (int n = 0; n < 20; ++n) {
        for (int i = 0; i < 5; ++i) l[i].invoke<&waiter::go>((n + i) % workers);
        for (int i = 0; i < 5; ++i) l[i].invoke<&waiter::nothing>(n);
        if (n % 5 == 0) co_await yield();
      }
      for (int i = 0; i < 5; ++i) places.push_back(l[i].call<&waiter::place>());
      l.destroy();
      for (const int at : co_await when_all(std::move(places))) EXPECT_LT(at, workers);
    }(all, workers)));
  }
}

struct starter : chare<starter> {
  void go(int to) { migrate_to(std::size_t(to)); }
  void before_migration() { m_task = spawn(later()); }
  template <class Archive>
  void serialize(Archive&) {}

 private:
  static task<> later() { co_await yield(); }
  future<void> m_task;
};

TEST_P(migrated_elements, must_not_start_tasks_before_they_migrate) {
  if (total_worker_count(rt) == 1) return;
  starling_test::stay_in_place(rt, "the run may end before the test waits for its error");
  const auto all = create_array<starter>(rt, 1, placement::block);
  const std::string error = message_of<usage_error>([&] {
    rt.sync_wait([](chare_array<starter> l) -> task<> {
      l[0].invoke<&starter::go>(1);
      co_await quiescence();
    }(all));
  });
  EXPECT_NE(error.find("before_migration must not start tasks"), std::string::npos) << error;
}

}  // namespace
}  // namespace starling
