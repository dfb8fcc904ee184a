// SPDX-License-Identifier: Apache-2.0
// Many messages, long chains, deep recursion and many elements: bounded memory, stack and time.
#include <gtest/gtest.h>

#include <starling/core.hpp>
#include <starling/objects.hpp>

#include "on_ranks.hpp"

namespace starling {
namespace {

using starling_test::cluster;
using starling_test::many;

class large_numbers : public starling_test::on_ranks {};
// Fewer ranks than elsewhere, as these tests take long. back_pressure_test has the floods over UCX.
INSTANTIATE_TEST_SUITE_P(on, large_numbers,
                         testing::Values(cluster{1, 1}, cluster{1, 2}, cluster{1, 4},
                                         cluster{2, 2}),
                         starling_test::ranks_name);

struct sink : chare<sink> {
  void drop(long n) {
    m_sum += n;
    ++m_count;
  }
  awaited item(int number, long n);
  task<long> take(int count) {
    long sum = 0;
    for (int i = 0; i < count; ++i) {
      const auto [number, n] = co_await when<&sink::item>();
      sum += n;
    }
    co_return sum;
  }
  void pour(element<sink> to, int count) {
    for (int i = 0; i < count; ++i) to.invoke<&sink::drop>(i);
  }
  void count_down(int left, callback<int> done) {
    ++m_count;
    if (left == 0) return done.deliver(int(this_index()));
    const int n = this_array().extent().extent();
    this_array()[(this_index() + 1) % n].invoke<&sink::count_down>(left - 1, std::move(done));
  }
  long sum() const { return m_sum; }
  int count() const { return m_count; }

 private:
  long m_sum = 0;
  int m_count = 0;
};

TEST_P(large_numbers, of_messages_from_one_sender) {
  const auto sinks = create_array<sink>(rt, 4, placement::round_robin);
  const int count = many(300'000, 3'000);
  rt.sync_wait([](chare_array<sink> a, int count) -> task<> {
    for (int i = 0; i < count; ++i) a[i % 4].invoke<&sink::drop>(1L);
    for (int i = 0; i < 4; ++i) EXPECT_EQ(co_await a[i].call<&sink::sum>(), count / 4);
  }(sinks, count));
}

TEST_P(large_numbers, of_messages_from_all_elements_to_one) {
  const auto sinks = create_array<sink>(rt, 9, placement::round_robin);
  const long count = many(50'000, 500);
  rt.sync_wait([](chare_array<sink> a, long count) -> task<> {
    a.invoke<&sink::pour>(a[4], int(count));
    co_await quiescence();
    EXPECT_EQ(co_await a[4].call<&sink::sum>(), 9 * (count * (count - 1) / 2));
  }(sinks, count));
}

TEST_P(large_numbers, of_messages_from_a_foreign_thread) {
  const auto sinks = create_array<sink>(rt, 4, placement::block);
  const int count = many(200'000, 2'000);
  for (int i = 0; i < count; ++i) sinks[i % 4].invoke<&sink::drop>(1L);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(rt.sync_wait(sinks[i].call<&sink::sum>()), count / 4);
}

TEST_P(large_numbers, of_messages_that_are_awaited) {
  const auto sinks = create_array<sink>(rt, 2, placement::round_robin);
  const int count = many(100'000, 2'000);
  rt.sync_wait([](element<sink> s, int count) -> task<> {
    for (int i = 0; i < count; ++i) s.invoke<&sink::item>(i, 1L);
    EXPECT_EQ(co_await s.call<&sink::take>(count), count);
  }(sinks[1], count));
}

TEST_P(large_numbers, of_messages_one_after_the_other) {
  const auto sinks = create_array<sink>(rt, 1000, placement::block);
  const int steps = many(1'000'000, 10'000);
  auto [to, last] = make_reply<int>();
  sinks[0].invoke<&sink::count_down>(steps, std::move(to));
  EXPECT_EQ(rt.sync_wait(std::move(last)), steps % 1000);
}

/// Nested calls: each awaits the next.
struct digger : chare<digger> {
  task<int> dig(int depth) {
    if (depth == 0) co_return 0;
    const int n = this_array().extent().extent();
    co_return 1 + co_await this_array()[(this_index() + 1) % n].call<&digger::dig>(depth - 1);
  }
  task<int> dig_and_fall(int depth) {
    if (depth == 0) throw std::runtime_error("the bottom");
    co_return 1 + co_await this_element().call<&digger::dig_and_fall>(depth - 1);
  }
  task<long> fibonacci(int n) {
    if (n < 2) co_return n;
    const int size = this_array().extent().extent();
    auto a = this_array()[(this_index() + 1) % size].call<&digger::fibonacci>(n - 1);
    auto b = this_array()[(this_index() + 2) % size].call<&digger::fibonacci>(n - 2);
    co_return co_await std::move(a) + co_await std::move(b);
  }
};

TEST_P(large_numbers, of_calls_within_calls) {
  const auto diggers = create_array<digger>(rt, 1000, placement::block);
  const int depth = many(100'000, 1'000);
  EXPECT_EQ(rt.sync_wait(diggers[0].call<&digger::dig>(depth)), depth);
  EXPECT_THROW(rt.sync_wait(diggers[3].call<&digger::dig_and_fall>(depth / 10)),
               std::runtime_error);
}

TEST_P(large_numbers, of_calls_in_a_tree) {
  const auto diggers = create_array<digger>(rt, 10, placement::round_robin);
  EXPECT_EQ(rt.sync_wait(diggers[0].call<&digger::fibonacci>(many(21, 12))), many(10946, 144));
}

struct grain : chare<grain> {
  void note() { ++m_noted; }
  void give(callback<long> to) { contribute(long(m_noted) * this_index(), reduction::sum{}, to); }
  task<> agree() { co_await barrier(); }

 private:
  int m_noted = 0;
};

TEST_P(large_numbers, of_elements) {
  const int count = many(100'000, 2'000);
  const auto heap = create_array<grain>(rt, count, placement::block);
  rt.sync_wait([](chare_array<grain> a, long count) -> task<> {
    a.invoke<&grain::note>();
    for (int i = 0; i < count; ++i) a[i].invoke<&grain::note>();
    auto [to, sum] = make_reply<long>();
    a.invoke<&grain::give>(to);
    EXPECT_EQ(co_await std::move(sum), count * (count - 1));
    a.invoke<&grain::agree>();
    co_await quiescence();
  }(heap, count));
}

TEST_P(large_numbers, of_arrays) {
  const int count = many(1'000, 100);
  for (int i = 0; i < count; ++i) {
    const auto pair = create_array<grain>(rt, 2, placement::round_robin);
    auto [to, sum] = make_reply<long>();
    pair.invoke<&grain::note>();
    pair.invoke<&grain::give>(to);
    EXPECT_EQ(rt.sync_wait(std::move(sum)), 1);
  }
}

}  // namespace
}  // namespace starling
