// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "support.hpp"

namespace {

using namespace starling;
using namespace starling_test;

class a_future : public with_workers {};
INSTANTIATE_TEST_SUITE_P(core, a_future, worker_counts, worker_count_name);

task<int> number(int x) { co_return x; }

template <class T>
task<T> wait_for(future<T> f) {
  co_return co_await f;
}

TEST_P(a_future, of_a_spawned_task_yields_its_value) {
  EXPECT_EQ(rt.sync_wait(rt.spawn(number(3))), 3);
}

TEST_P(a_future, that_is_ready_does_not_suspend) {
  auto f = make_ready_future(std::string("there"));
  EXPECT_TRUE(f.is_ready());
  EXPECT_EQ(rt.sync_wait(std::move(f)), "there");
  auto v = make_ready_future();
  EXPECT_TRUE(v.is_ready());
  rt.sync_wait(std::move(v));
}

TEST_P(a_future, of_a_promise_waits_until_it_is_fulfilled) {
  promise<int> p;
  auto f = rt.spawn(wait_for(p.get_future()));
  EXPECT_FALSE(f.is_ready());
  p.set_value(11);
  EXPECT_EQ(rt.sync_wait(std::move(f)), 11);
}

TEST_P(a_future, carries_a_reference) {
  int object = 0;
  promise<int&> p;
  auto f = p.get_future();
  p.set_value(object);
  const bool same = rt.sync_wait([](future<int&> g, int& x) -> task<bool> {
    co_return &(co_await g) == &x;
  }(std::move(f), object));
  EXPECT_TRUE(same);
}

TEST_P(a_future, carries_a_move_only_value) {
  promise<std::unique_ptr<int>> p;
  auto f = p.get_future();
  p.set_value(std::make_unique<int>(4));
  EXPECT_EQ(*rt.sync_wait(std::move(f)), 4);
}

TEST_P(a_future, carries_the_error_of_its_promise) {
  promise<int> p;
  auto f = p.get_future();
  p.set_exception(std::make_exception_ptr(std::domain_error("bad")));
  EXPECT_THROW(rt.sync_wait(std::move(f)), std::domain_error);
}

TEST_P(a_future, of_a_dropped_promise_is_broken) {
  future<int> f;
  {
    promise<int> p;
    f = p.get_future();
  }
  EXPECT_THROW(rt.sync_wait(std::move(f)), broken_promise);
}

TEST_P(a_future, whose_promise_is_dropped_while_it_waits_is_broken) {
  auto p = std::make_unique<promise<int>>();
  auto f = rt.spawn(wait_for(p->get_future()));
  p.reset();
  EXPECT_THROW(rt.sync_wait(std::move(f)), broken_promise);
}

TEST_P(a_future, can_be_taken_from_a_promise_once) {
  promise<int> p;
  const auto f = p.get_future();
  EXPECT_THROW(static_cast<void>(p.get_future()), usage_error);
}

TEST_P(a_future, cannot_be_fulfilled_twice) {
  promise<int> p;
  const auto f = p.get_future();
  p.set_value(1);
  EXPECT_THROW(p.set_value(2), usage_error);
  EXPECT_THROW(p.set_exception(std::make_exception_ptr(1)), usage_error);
}

TEST_P(a_future, may_be_taken_after_the_value_is_set) {
  promise<int> p;
  p.set_value(6);
  EXPECT_EQ(rt.sync_wait(p.get_future()), 6);
}

TEST_P(a_future, that_is_dropped_detaches_the_work) {
  promise<> done;
  auto finished = done.get_future();
  {
    const auto dropped = rt.spawn([](promise<> d) -> task<> {
      co_await yield();
      d.set_value();
    }(std::move(done)));
  }
  rt.sync_wait(std::move(finished));
}

TEST_P(a_future, that_is_dropped_frees_the_result) {
  int alive = 0;
  {
    promise<counted> p;
    auto f = p.get_future();
    p.set_value(alive);
    EXPECT_EQ(alive, 1);
    f = {};
    EXPECT_EQ(alive, 0);
    promise<counted> late;
    f = late.get_future();
    f = {};
    late.set_value(alive);
    EXPECT_EQ(alive, 0);
  }
  EXPECT_EQ(alive, 0);
}

TEST_P(a_future, that_was_consumed_or_never_valid_throws_an_error) {
  EXPECT_FALSE(future<int>().valid());
  EXPECT_FALSE(future<int>().is_ready());
  EXPECT_THROW(rt.sync_wait(wait_for(future<int>())), usage_error);
  auto used_twice = [](future<int> f) -> task<int> {
    const int first = co_await f;
    co_return first + co_await f;
  };
  EXPECT_THROW(rt.sync_wait(used_twice(make_ready_future(1))), usage_error);
}

TEST_P(a_future, can_be_fulfilled_by_threads_outside_the_runtime) {
  constexpr int count = 200;
  std::vector<promise<int>> promises(count);
  std::vector<future<int>> waiting;
  for (auto& p : promises) waiting.push_back(rt.spawn(wait_for(p.get_future())));
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&promises, t, token = rt.hold_external_work()] {
      for (int i = t; i < count; i += 4) promises[std::size_t(i)].set_value(i);
    });
  const auto values = rt.sync_wait(when_all(std::move(waiting)));
  for (auto& t : threads) t.join();
  for (int i = 0; i < count; ++i) EXPECT_EQ(values[std::size_t(i)], i);
}

TEST_P(a_future, races_with_its_promise_without_losing_a_value) {
  const int rounds = many(2000, 50);
  long sum = 0;
  std::vector<promise<int>> promises{std::size_t(rounds)};
  std::vector<future<int>> futures;
  for (auto& p : promises) futures.push_back(p.get_future());
  std::thread producer([&promises, token = rt.hold_external_work()] {
    int i = 0;
    for (auto& p : promises) p.set_value(i++);
  });
  rt.sync_wait([](std::vector<future<int>> fs, long& total) -> task<> {
    for (auto& f : fs) total += co_await f;
  }(std::move(futures), sum));
  producer.join();
  EXPECT_EQ(sum, long(rounds) * (rounds - 1) / 2);
}

TEST_P(a_future, races_with_being_dropped) {
  const int rounds = many(2000, 50);
  int alive = 0;
  {
    std::vector<promise<counted>> promises{std::size_t(rounds)};
    std::vector<future<counted>> futures;
    for (auto& p : promises) futures.push_back(p.get_future());
    std::thread dropper([&futures] { futures.clear(); });
    // One thread counts: set_value creates the object; set_value or the dropper destroys it.
    dropper.join();
    for (auto& p : promises) p.set_value(alive);
  }
  EXPECT_EQ(alive, 0);
  std::vector<promise<std::string>> promises{std::size_t(rounds)};
  std::vector<future<std::string>> futures;
  for (auto& p : promises) futures.push_back(p.get_future());
  std::thread dropper([&futures] { futures.clear(); });
  for (auto& p : promises) p.set_value(100, 'x');
  dropper.join();
  EXPECT_TRUE(futures.empty());
}

}  // namespace
