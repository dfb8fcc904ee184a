// SPDX-License-Identifier: Apache-2.0
// The parts of a worker, without a runtime.
#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "core/worker_idle.hpp"
#include "support/scarce_memory.hpp"

namespace {

using namespace starling;
using namespace starling::detail;

TEST(a_transfer_chain, is_bounded_anew_in_each_dispatch_even_if_it_refuses_all) {
  transfer_chain chain;
  for (const bool extends : {true, true, false, false}) {
    if (!extends) chain.refuse_all();
    chain.begin();
    for (int i = 0; i < 32; ++i) {
      EXPECT_EQ(chain.extend(), extends);
      EXPECT_EQ(chain.is_short(), !extends);
    }
    EXPECT_FALSE(chain.extend());
    EXPECT_FALSE(chain.is_short());
  }
  EXPECT_EQ(chain.take_count(), 3u * 33u) << "of the chains that have ended";
  EXPECT_EQ(chain.take_count(), 0u);
}

TEST(a_transfer_chain, displaces_the_first_coroutine_at_a_second_cut) {
  promise_base first, second;
  transfer_chain chain;
  EXPECT_EQ(chain.cut(first), nullptr);
  EXPECT_EQ(chain.cut(second), &first);
  EXPECT_EQ(chain.take_next(), &second);
  EXPECT_EQ(chain.take_next(), nullptr);
}

/// Steals a task of `length` and returns the length of the pause after it, in ns.
std::uint64_t pause_after(theft_pause& p, std::uint64_t length) {
  constexpr std::uint64_t now = 1'000'000;
  p.stolen(now - 10'000);  // an earlier task, with work in between
  p.stolen(now);
  p.ran_out(now + length);
  p.ran_out(now + length + 1);  // no further theft
  std::uint64_t pause = 0;
  while (!p.is_over(now + length + pause)) ++pause;
  return pause;
}

TEST(a_theft_pause, doubles_with_each_tiny_task_until_one_is_worth_its_theft) {
  theft_pause p;
  p.ran_out(1'000'000);
  EXPECT_TRUE(p.is_over(0)) << "no theft";
  for (const std::uint64_t expected : {300, 600, 1200, 2400, 4800, 8000, 8000})
    EXPECT_EQ(pause_after(p, 299), expected);
  EXPECT_EQ(pause_after(p, 300), 0u);
  EXPECT_EQ(pause_after(p, 299), 300u);
}

TEST(the_sleep_of_a_worker, is_ended_by_one_wake_and_only_a_wake) {
  idle_board board;
  sleep_state sleep;
  EXPECT_FALSE(sleep.wake(board)) << "not announced";
  sleep.fall_asleep(board);
  sleep.wait_until(1);  // a deadline that has passed
  EXPECT_TRUE(sleep.is_asleep());
  EXPECT_EQ(board.sleeping, 1);
  EXPECT_TRUE(sleep.wake(board));
  EXPECT_FALSE(sleep.wake(board));
  sleep.wait_until(0);  // returns, as the sleep is over
  sleep.wake_up(board);
  EXPECT_EQ(board.sleeping, 0);
  EXPECT_EQ(board.wakes, 1u);
  sleep.fall_asleep(board);
  sleep.wake_up(board);
  EXPECT_FALSE(sleep.is_asleep());
  EXPECT_EQ(board.sleeping, 0);
  EXPECT_EQ(board.wakes, 2u);
}

// In most rounds the worker ends its sleep itself, after a delay that sometimes ends between two
// steps of a waking thread.
TEST(the_sleep_of_a_worker, is_ended_once_and_off_the_board_before_its_worker_continues) {
  constexpr std::uint64_t rounds = 100'000;
  idle_board board;
  sleep_state sleep;
  std::atomic<bool> done{false};
  std::atomic<std::uint64_t> woken{0};
  const auto wake = [&] {
    for (int i = 0; !done; ++i) {
      if (sleep.wake(board)) woken.fetch_add(1);
      if (i % 512 == 0) std::this_thread::yield();
    }
  };
  std::thread wakers[] = {std::thread(wake), std::thread(wake)};
  std::uint64_t wrong = 0;
  for (std::uint64_t i = 1; i <= rounds; ++i) {
    sleep.fall_asleep(board);
    for (std::uint64_t k = 0; k < i % 16; ++k) static_cast<void>(sleep.is_asleep());
    while (i % 16 == 0 && sleep.is_asleep()) sleep.wait_until(0);
    sleep.wake_up(board);
    if (board.sleeping != 0 || board.wakes != i || sleep.is_asleep()) ++wrong;
  }
  done = true;
  for (std::thread& t : wakers) t.join();
  EXPECT_EQ(wrong, 0u) << "rounds";
  EXPECT_GE(woken, rounds / 16);
  EXPECT_LE(woken, rounds);
}

struct item : promise_base {
  explicit item(starling::priority p = starling::priority::normal) { priority = p; }
};

TEST(an_inbox, keeps_the_order_of_each_priority) {
  item a, b, earlier, high(priority::high);
  worker_inbox inbox;
  ready_list normal;
  normal.push(earlier);
  for (item* i : {&a, &high, &b}) inbox.post(*i);
  inbox.empty_into(normal, priority::normal);
  for (item* i : {&earlier, &a, &b}) EXPECT_EQ(normal.pop(), i);
  EXPECT_TRUE(normal.empty());
  EXPECT_FALSE(inbox.looks_empty(std::memory_order_relaxed));
  inbox.empty_into(normal, priority::high);
  EXPECT_EQ(normal.pop(), &high);
  EXPECT_TRUE(inbox.looks_empty(std::memory_order_relaxed));
}

TEST(the_queues_of_a_worker, leave_their_last_item_to_their_owner_unless_it_stands_still) {
  item a, b, high(priority::high), slot;
  worker_queues queues;
  static_cast<void>(queues.keep_newest(true));
  for (item* i : {&a, &b, &high}) EXPECT_TRUE(queues.share(*i));
  EXPECT_EQ(queues.steal_spare(), &a);
  EXPECT_EQ(queues.steal_spare(), nullptr);
  EXPECT_EQ(queues.keep(slot), nullptr);
  EXPECT_EQ(queues.steal_spare(), &high) << "there is one in the slot, too";
  EXPECT_EQ(queues.steal_last([] { return false; }), &b);
  EXPECT_EQ(queues.steal_last([] { return false; }), nullptr) << "no barrier";
  EXPECT_EQ(queues.steal_last([] { return true; }), &slot);
  EXPECT_TRUE(queues.looks_empty());
}

TEST(the_queues_of_a_worker, pin_an_item_if_there_is_no_memory_to_share_it) {
  std::vector<item> items(10'000);
  worker_queues queues;
  std::size_t shared = 0;
  const no_memory now;
  while (shared < items.size() && queues.share(items[shared])) ++shared;
  ASSERT_LT(shared, items.size());
  EXPECT_EQ(queues.pinned(priority::normal).pop(), &items[shared]);
  EXPECT_EQ(queues.oldest_of(worker_queues::normal), &items[0]);
}

}  // namespace
