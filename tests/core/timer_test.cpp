// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <functional>
#include <thread>
#include <vector>

#include "support.hpp"

namespace {

using namespace starling;
using namespace starling_test;
using namespace std::chrono_literals;
using steady = std::chrono::steady_clock;

class a_sleep : public with_workers {};
INSTANTIATE_TEST_SUITE_P(core, a_sleep, worker_counts, worker_count_name);

TEST_P(a_sleep, is_never_too_short) {
  const auto begin = steady::now();
  rt.sync_wait([]() -> task<> { co_await sleep_for(3ms); }());
  EXPECT_GE(steady::now() - begin, 3ms);
}

/// Returns the number of turns that another task of the same worker gets while `sleeping` sleeps.
task<int> turns_during(task<> sleeping) {
  bool over = false;
  auto sleep = [](task<> t, bool& o) -> task<> {
    co_await std::move(t);
    o = true;
  };
  auto asleep = async(runtime::current()->on_worker(unsigned(runtime::worker_index())), sleep,
                      std::move(sleeping), std::ref(over));
  int turns = 0;
  while (!over) {
    co_await yield();
    ++turns;
  }
  co_await std::move(asleep);
  co_return turns;
}

// With one worker, which alone handles due timers: a second worker could be descheduled between
// taking a timer and resuming its coroutine, while tasks of this worker get any number of turns.
TEST(a_sleep_on_one_worker, until_the_past_ends_at_once) {
  runtime rt(options_with(1));
  auto until = [](steady::time_point due) -> task<> { co_await sleep_until(due); };
  const auto turns = [&](task<> sleeping) {
    return rt.sync_wait(rt.on_worker(0).spawn(turns_during(std::move(sleeping))));
  };
  // At the next poll, which is due after 64 tasks; a wait of a millisecond is thousands of turns.
  constexpr int few = 200;
  EXPECT_LT(turns(until(steady::now() - 1h)), few);
  EXPECT_LT(turns(until(steady::time_point{})), few);
  EXPECT_LT(turns([]() -> task<> { co_await sleep_for(-5ms); }()), few);
  int during_a_wait = 0;  // shows that the bound can fail
  for (auto wait = 20ms; during_a_wait <= few && wait < 10s; wait *= 4)
    during_a_wait = turns(until(steady::now() + wait));
  EXPECT_GT(during_a_wait, few);
}

TEST(a_sleep_on_one_worker, ends_in_the_order_of_the_due_times) {
  runtime rt(options_with(1));
  std::vector<int> order;
  bool late = true;  // a sleep began after the first due time, on a slow machine
  auto nap = [](std::vector<int>& o, bool& l, steady::time_point first, int who) -> task<> {
    l = l || steady::now() >= first;
    co_await sleep_until(first + who * 1ms);
    o.push_back(who);
  };
  for (auto delay = 2ms; late && delay < 4s; delay *= 4) {
    order.clear();
    late = false;
    const auto first = steady::now() + delay;
    std::vector<future<void>> all;
    // Pinned: a worker resumes unpinned coroutines that one poll has made ready in reverse order.
    for (const int who : {3, 1, 2, 0})
      all.push_back(rt.on_worker(0).spawn(nap(order, late, first, who)));
    rt.sync_wait(when_all(std::move(all)));
  }
  EXPECT_FALSE(late);
  if (!in_chaos()) {
    EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3}));
  }
  EXPECT_EQ(order.size(), 4u);
}

TEST_P(a_sleep, of_many_at_the_same_time_wakes_each_once) {
  int count = 0;
  auto nap = [](int& n, steady::time_point due) -> task<> {
    co_await sleep_until(due);
    ++n;
  };
  const auto due = steady::now() + 2ms;
  std::vector<future<void>> all;
  for (int i = 0; i < 200; ++i) all.push_back(rt.on_worker(0).spawn(nap(count, due)));
  rt.sync_wait(when_all(std::move(all)));
  EXPECT_EQ(count, 200);
}

TEST_P(a_sleep, is_no_hang_and_keeps_the_runtime_alive) {
  bool woke = false;
  {
    runtime other(options_with(rt.worker_count()));
    other.post([](bool& w) -> task<> {
      co_await sleep_for(5ms);
      w = true;
    }(woke));
  }
  EXPECT_TRUE(woke);
}

TEST(a_sleep_on_two_workers, ends_while_the_worker_that_began_it_is_busy) {
  runtime rt(options_with(2));
  // The busy task leaves its worker only after the sleeper has run: on the other worker.
  std::atomic<bool> woke{false};
  auto sleeper = [](std::atomic<bool>& w) -> task<> {
    co_await sleep_for(2ms);
    w = true;
  };
  rt.sync_wait([](auto& f, std::atomic<bool>& w) -> task<> {
    auto sleeping = spawn(f(w), {.priority = priority::high});
    co_await yield();
    while (!w) std::this_thread::yield();
    co_await sleeping;
  }(sleeper, woke));
  EXPECT_TRUE(woke);
}

TEST(a_sleep_on_three_workers, ends_though_all_but_one_get_busy) {
  runtime_options options = options_with(3);
  options.spin_us = 0;
  runtime rt(options);
  auto sleeper = [](std::atomic<bool>& w) -> task<> {
    co_await sleep_for(5ms);
    w = true;
  };
  auto busy = [](std::atomic<bool>& w) -> task<> {
    while (!w) std::this_thread::yield();
    co_return;
  };
  for (unsigned free = 0; free < 3; ++free)
    for (int round = 0; round < 3; ++round) {
      std::atomic<bool> woke{false};
      rt.post(sleeper(woke));
      // Meanwhile the workers most likely fall asleep, one of them until the timer is due.
      for (int i = 0; i < 1000 && !woke; ++i) std::this_thread::yield();
      for (unsigned i = 1; i < 3; ++i) rt.on_worker((free + i) % 3).post(busy(woke));
      while (!woke) std::this_thread::yield();  // wait_idle would wake a worker
      rt.wait_idle();
    }
}

TEST_P(a_sleep, of_the_longest_duration_ends_when_it_is_stopped) {
  std::stop_source stop;
  auto sleeper = [](std::stop_token s) -> task<> {
    co_await sleep_for(std::chrono::hours::min());
    co_await sleep_for(std::chrono::hours::max(), s);
  };
  auto asleep = rt.spawn(sleeper(stop.get_token()));
  rt.post([](std::stop_source s) -> task<> {
    co_await sleep_for(1ms);
    s.request_stop();
  }(stop));
  EXPECT_THROW(rt.sync_wait(std::move(asleep)), operation_cancelled);
}

}  // namespace
