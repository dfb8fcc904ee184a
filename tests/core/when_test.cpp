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

class when_all_ : public with_workers {};
class when_any_ : public with_workers {};
INSTANTIATE_TEST_SUITE_P(core, when_all_, worker_counts, worker_count_name);
INSTANTIATE_TEST_SUITE_P(core, when_any_, worker_counts, worker_count_name);

task<int> after_yields(int value, int yields) {
  for (int i = 0; i < yields; ++i) co_await yield();
  co_return value;
}

task<int> failing(const char* what) {
  co_await yield();
  throw std::runtime_error(what);
}

TEST_P(when_all_, yields_all_values_in_order) {
  std::vector<future<int>> inputs;
  for (int i = 0; i < 20; ++i) inputs.push_back(rt.spawn(after_yields(i, (i * 7) % 5)));
  const auto values = rt.sync_wait(when_all(std::move(inputs)));
  ASSERT_EQ(values.size(), 20u);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(values[std::size_t(i)], i);
}

TEST_P(when_all_, of_nothing_is_ready) {
  EXPECT_TRUE(rt.sync_wait(when_all(std::vector<future<int>>{})).empty());
  rt.sync_wait(when_all(std::vector<future<void>>{}));
}

TEST_P(when_all_, waits_for_inputs_without_a_value) {
  int count = 0;
  std::vector<future<void>> inputs;
  auto bump = [](int& n) -> task<> {
    co_await yield();
    ++n;
  };
  for (int i = 0; i < 10; ++i) inputs.push_back(rt.on_worker(0).spawn(bump(count)));
  rt.sync_wait(when_all(std::move(inputs)));
  EXPECT_EQ(count, 10);
}

TEST_P(when_all_, yields_a_tuple_of_different_types) {
  auto text = []() -> task<std::string> { co_return "b"; };
  auto nothing = []() -> task<> { co_return; };
  auto unique = []() -> task<std::unique_ptr<int>> { co_return std::make_unique<int>(3); };
  const auto [a, b, c, d] = rt.sync_wait(when_all(rt.spawn(after_yields(1, 3)), rt.spawn(text()),
                                                  rt.spawn(nothing()), rt.spawn(unique())));
  EXPECT_EQ(a, 1);
  EXPECT_EQ(b, "b");
  EXPECT_EQ(c, std::monostate());
  EXPECT_EQ(*d, 3);
}

TEST_P(when_all_, throws_the_first_error_after_all_are_done) {
  std::atomic<int> finished{0};
  auto slow = [](std::atomic<int>& n) -> task<int> {
    for (int i = 0; i < 20; ++i) co_await yield();
    ++n;
    co_return 0;
  };
  std::vector<future<int>> inputs;
  inputs.push_back(rt.spawn(slow(finished)));
  inputs.push_back(rt.spawn(failing("first")));
  inputs.push_back(rt.spawn(failing("second")));
  inputs.push_back(rt.spawn(slow(finished)));
  const std::string said =
      message_of<std::runtime_error>([&] { rt.sync_wait(when_all(std::move(inputs))); });
  EXPECT_EQ(said, "first");
  EXPECT_EQ(finished, 2);
}

TEST_P(when_all_, throws_an_error_from_a_tuple_too) {
  EXPECT_THROW(rt.sync_wait(when_all(rt.spawn(after_yields(1, 0)), rt.spawn(failing("x")))),
               std::runtime_error);
}

TEST_P(when_all_, refuses_a_future_that_was_consumed) {
  std::vector<future<int>> inputs(2);
  EXPECT_THROW(rt.sync_wait(when_all(std::move(inputs))), usage_error);
  EXPECT_THROW(rt.sync_wait(when_all(make_ready_future(1), future<int>())), usage_error);
}

TEST_P(when_all_, joins_a_hundred_thousand) {
  const int count = many(100000, 2000);
  const long sum = rt.sync_wait([](int n) -> task<long> {
    std::vector<future<int>> inputs;
    inputs.reserve(std::size_t(n));
    for (int i = 0; i < n; ++i) inputs.push_back(spawn(after_yields(i, 0)));
    long total = 0;
    for (const int x : co_await when_all(std::move(inputs))) total += x;
    co_return total;
  }(count));
  EXPECT_EQ(sum, long(count) * (count - 1) / 2);
}

TEST_P(when_all_, joins_promises_that_several_threads_fulfil_in_any_order) {
  const int count = many(2000, 50);
  std::vector<promise<int>> promises{std::size_t(count)};
  std::vector<future<int>> inputs;
  for (auto& p : promises) inputs.push_back(p.get_future());
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&promises, t, count, token = rt.hold_external_work()] {
      for (int i = count - 1 - t; i >= 0; i -= 3) promises[std::size_t(i)].set_value(1);
    });
  const auto values = rt.sync_wait(when_all(std::move(inputs)));
  for (auto& t : threads) t.join();
  EXPECT_EQ(values, std::vector<int>(std::size_t(count), 1));
}

TEST_P(when_any_, yields_the_one_that_was_ready_before) {
  promise<int> never;
  std::vector<future<int>> inputs;
  inputs.push_back(never.get_future());
  inputs.push_back(make_ready_future(5));
  auto result = rt.sync_wait(when_any(std::move(inputs)));
  EXPECT_EQ(result.index, 1u);
  EXPECT_EQ(rt.sync_wait(std::move(result.futures[1])), 5);
  EXPECT_FALSE(result.futures[0].is_ready());
}

TEST_P(when_any_, yields_the_first_to_become_ready) {
  std::vector<promise<int>> promises(3);
  std::vector<future<int>> inputs;
  for (auto& p : promises) inputs.push_back(p.get_future());
  auto racing = rt.spawn(when_any(std::move(inputs)));
  promises[2].set_value(22);
  auto result = rt.sync_wait(std::move(racing));
  EXPECT_EQ(result.index, 2u);
  EXPECT_EQ(rt.sync_wait(std::move(result.futures[2])), 22);
}

TEST_P(when_any_, leaves_the_losers_usable) {
  std::vector<promise<int>> promises(3);
  std::vector<future<int>> inputs;
  for (auto& p : promises) inputs.push_back(p.get_future());
  auto racing = rt.spawn(when_any(std::move(inputs)));
  promises[0].set_value(0);
  auto result = rt.sync_wait(std::move(racing));
  promises[1].set_value(1);
  promises[2].set_value(2);
  EXPECT_EQ(rt.sync_wait(when_all(std::move(result.futures))), (std::vector<int>{0, 1, 2}));
}

TEST_P(when_any_, counts_an_error_as_ready) {
  promise<int> never;
  std::vector<future<int>> inputs;
  inputs.push_back(never.get_future());
  inputs.push_back(rt.spawn(failing("won")));
  auto result = rt.sync_wait(when_any(std::move(inputs)));
  EXPECT_EQ(result.index, 1u);
  EXPECT_THROW(rt.sync_wait(std::move(result.futures[1])), std::runtime_error);
}

TEST_P(when_any_, accepts_different_types) {
  promise<> never;
  promise<std::string> word;
  auto racing = rt.spawn(when_any(never.get_future(), word.get_future()));
  word.set_value("w");
  auto result = rt.sync_wait(std::move(racing));
  EXPECT_EQ(result.index, 1u);
  EXPECT_EQ(rt.sync_wait(std::move(std::get<1>(result.futures))), "w");
}

TEST_P(when_any_, of_nothing_is_refused) {
  EXPECT_THROW(rt.sync_wait(when_any(std::vector<future<int>>{})), usage_error);
}

TEST_P(when_any_, has_one_winner_when_all_complete_at_once) {
  const int rounds = many(300, 10);
  for (int round = 0; round < rounds; ++round) {
    std::vector<promise<int>> promises(4);
    std::vector<future<int>> inputs;
    for (auto& p : promises) inputs.push_back(p.get_future());
    auto fulfil = [](promise<int> p, int i) -> task<> {
      p.set_value(i);
      co_return;
    };
    auto racing = rt.spawn(when_any(std::move(inputs)));
    for (int i = 0; i < 4; ++i) rt.post(fulfil(std::move(promises[std::size_t(i)]), i));
    auto result = rt.sync_wait(std::move(racing));
    ASSERT_LT(result.index, 4u);
    ASSERT_TRUE(result.futures[result.index].is_ready());
    EXPECT_EQ(rt.sync_wait(when_all(std::move(result.futures))), (std::vector<int>{0, 1, 2, 3}));
  }
}

TEST(when_all_of_references, gives_references) {
  runtime rt(options_with(1));
  int value = 1;
  auto lend = [](int& x) -> task<int&> { co_return x; };
  std::vector<future<int&>> inputs;
  inputs.push_back(rt.spawn(lend(value)));
  auto results = rt.sync_wait(when_all(std::move(inputs)));
  results.at(0).get() = 2;
  EXPECT_EQ(value, 2);
}

}  // namespace
