// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <string_view>
#include <vector>

#include <starling/core/when_all.hpp>

#include "fixture.hpp"

namespace starling::contract {
namespace {

class streams : public device_contract {};
INSTANTIATE_TEST_SUITE_P(backends, streams, testing::ValuesIn(all_setups), name_of);

std::uint64_t affine_chain(std::uint64_t start, int length) {
  for (int i = 0; i < length; ++i) start = std::uint64_t(i + 2) * start + std::uint64_t(i);
  return start;
}

void submit_affine_chain(stream& s, buffer<std::uint64_t>& a, int length) {
  for (int i = 0; i < length; ++i)
    s.submit(range{int(a.size())}, affine{a.data(), std::uint64_t(i + 2), std::uint64_t(i)});
}

TEST_P(streams, run_operations_in_the_order_of_submission) {
  run([](device& d) -> task<void> {
    auto a = shared_buffer<std::uint64_t>(d, 37, 1);
    stream s = d.make_stream();
    submit_affine_chain(s, a, 1000);
    co_await s.completion();
    for (const std::uint64_t value : a) EXPECT_EQ(value, affine_chain(1, 1000));
  });
}

TEST_P(streams, complete_exactly_the_submitted_work) {
  run([](device& d) -> task<void> {
    auto a = shared_buffer<std::uint64_t>(d, 1, 7);
    stream s = d.make_stream();
    for (int i = 0; i < 200; ++i) {
      s.submit(range{1}, affine{a.data(), 1, 1});
      co_await s.completion();
      EXPECT_EQ(a.data()[0], std::uint64_t(8 + i));
    }
    EXPECT_TRUE(s.is_idle());
  });
}

TEST_P(streams, that_never_had_work_are_complete) {
  run([](device& d) -> task<void> {
    stream s = d.make_stream();
    co_await s.completion();
    co_await s.get_future();
    EXPECT_TRUE(s.is_idle());
  });
}

TEST_P(streams, fulfil_futures_and_let_them_be_dropped) {
  run([](device& d) -> task<void> {
    auto a = shared_buffer<std::uint64_t>(d, 8, 0);
    std::vector<future<void>> done;
    std::vector<stream> several;
    for (int i = 0; i < 8; ++i) {
      several.push_back(d.make_stream());
      several.back().submit(range{1}, affine{a.data() + i, 1, std::uint64_t(i)});
      done.push_back(several.back().get_future());
      several.back().submit(range{1}, affine{a.data() + i, 2, 0});
      static_cast<void>(several.back().get_future());  // dropped
    }
    co_await when_all(std::move(done));
    for (stream& s : several) co_await s.completion();
    for (int i = 0; i < 8; ++i) EXPECT_EQ(a.data()[i], std::uint64_t(2 * i));
  });
}

TEST_P(streams, give_futures_to_threads_outside_the_runtime) {
  auto a = shared_buffer<std::uint64_t>(first(), 4, 5);
  stream s = first().make_stream();
  s.submit(range{4}, affine{a.data(), 2, 1});
  rt().sync_wait(s.get_future());
  EXPECT_EQ(a.data()[3], 11u);
  s.submit(range{4}, affine{a.data(), 2, 1});
  rt().sync_wait(s.completion());
  EXPECT_EQ(a.data()[0], 23u);
}

task<void> await_and_check(stream& s, const std::uint64_t& value, std::uint64_t expected) {
  co_await s.completion();
  EXPECT_EQ(value, expected);
}

TEST_P(streams, resume_many_awaiters_of_one_request) {
  run([](device& d) -> task<void> {
    auto a = shared_buffer<std::uint64_t>(d, 1, 0);
    stream s = d.make_stream();
    submit_affine_chain(s, a, 100);
    std::vector<future<void>> waiters;
    for (int i = 0; i < 64; ++i)
      waiters.push_back(spawn(await_and_check(s, a.data()[0], affine_chain(0, 100))));
    co_await when_all(std::move(waiters));
  });
}

task<void> work_alone(device& d, std::uint64_t& slot, int length) {
  stream s = d.pool().acquire();
  for (int i = 0; i < length; ++i) {
    s.submit(range{1}, affine{&slot, 3, std::uint64_t(i)});
    if (i % 7 == 0) co_await s.completion();
  }
  co_await s.completion();
}

TEST_P(streams, take_work_from_many_tasks) {
  run([](device& d) -> task<void> {
    auto a = shared_buffer<std::uint64_t>(d, 64, 1);
    std::vector<future<void>> tasks;
    for (std::uint64_t& slot : a) tasks.push_back(spawn(work_alone(d, slot, 40)));
    co_await when_all(std::move(tasks));
    std::uint64_t expected = 1;
    for (int i = 0; i < 40; ++i) expected = 3 * expected + std::uint64_t(i);
    for (const std::uint64_t value : a) EXPECT_EQ(value, expected);
  });
  EXPECT_EQ(first().pool().lent(), 0u);
  EXPECT_LE(first().stream_count(), 16u);
}

TEST_P(streams, wait_for_events_of_other_streams) {
  run([](device& d) -> task<void> {
    auto a = shared_buffer<std::uint64_t>(d, 5, 1);
    auto b = shared_buffer<std::uint64_t>(d, 5, 0);
    stream producer = d.make_stream();
    stream consumer = d.make_stream(priority::high);
    for (int round = 0; round < 20; ++round) {
      submit_affine_chain(producer, a, 30);
      consumer.wait(producer.record());
      consumer.submit(range{5}, add_to{b.data(), a.data(), 1});
      producer.wait(consumer.record());  // do not overwrite data that is being read
    }
    co_await consumer.completion();
    std::uint64_t expected = 1;
    for (int round = 0; round < 20; ++round) expected = affine_chain(expected, 30);
    for (const std::uint64_t value : b) EXPECT_EQ(value, expected + 1);
  });
}

TEST_P(streams, may_wait_for_their_own_events) {
  run([](device& d) -> task<void> {
    auto a = shared_buffer<std::uint64_t>(d, 5, 1);
    auto b = shared_buffer<std::uint64_t>(d, 5, 0);
    stream s = d.make_stream();
    stream other = d.make_stream();
    submit_affine_chain(s, a, 30);
    const event mine = s.record();
    other.wait(mine);
    s.wait(mine);
    other.submit(range{5}, add_to{b.data(), a.data(), 1});
    s.wait(other.record());
    s.wait(s.record());
    submit_affine_chain(s, a, 30);
    co_await s.completion();
    const std::uint64_t between = affine_chain(1, 30);
    for (const std::uint64_t value : b) EXPECT_EQ(value, between + 1);
    for (const std::uint64_t value : a) EXPECT_EQ(value, affine_chain(between, 30));
  });
}

TEST_P(streams, pass_events_whose_work_is_complete) {
  run([](device& d) -> task<void> {
    EXPECT_TRUE(event().is_complete());
    auto a = shared_buffer<std::uint64_t>(d, 1, 0);
    stream s = d.make_stream();
    s.wait(event());
    submit_affine_chain(s, a, 50);
    const event middle = s.record();
    submit_affine_chain(s, a, 50);
    co_await s.completion();
    EXPECT_TRUE(middle.is_complete());
    EXPECT_TRUE(event(middle).is_complete());
  });
}

TEST_P(streams, accept_priorities_and_are_recycled) {
  run([](device& d) -> task<void> {
    auto a = shared_buffer<std::uint64_t>(d, 1, 0);
    for (int i = 0; i < 50; ++i) {
      stream high = d.make_stream(priority::high);
      stream normal = d.make_stream(priority::normal);
      EXPECT_NE(high.id(), normal.id());
      high.submit(range{1}, affine{a.data(), 1, 1});
      normal.wait(high.record());
      normal.submit(range{1}, affine{a.data(), 1, 1});
      co_await normal.completion();
      co_await high.completion();
    }
    EXPECT_EQ(a.data()[0], 100u);
    EXPECT_LE(d.stream_count(), 2u);
  });
}

TEST_P(streams, of_a_pool_are_shared_when_lent_out) {
  stream_pool pool(first(), 3);
  std::vector<stream> lent;
  for (int i = 0; i < 7; ++i) lent.push_back(pool.acquire());
  EXPECT_EQ(pool.lent(), 7u);
  EXPECT_EQ(first().stream_count(), 3u);
  lent.clear();
  EXPECT_EQ(pool.lent(), 0u);
  stream_pool in_turn(first(), 2, priority::high, lending::round_robin);
  const stream one = in_turn.acquire();
  const stream two = in_turn.acquire();
  EXPECT_NE(one.id(), two.id());
  EXPECT_THROW(stream_pool(first(), 0), usage_error);
}

TEST_P(streams, survive_their_handles) {
  run([](device& d) -> task<void> {
    auto a = shared_buffer<std::uint64_t>(d, 1, 1);
    future<void> done;
    {
      stream s = d.make_stream();
      submit_affine_chain(s, a, 300);
      done = s.get_future();
    }
    co_await done;
    EXPECT_EQ(a.data()[0], affine_chain(1, 300));
  });
}

/// The thread that ends the runtime drains the queue of a pool, while a worker may still be about
/// to poll it.
TEST_P(streams, of_a_pool_end_with_the_runtime_without_a_waiter) {
  for (int round = 0; round < 20; ++round) {
    std::vector<int> a(100, -1);
    {
      stream s = first().pool().acquire();
      for (int i = 0; i < 3; ++i) s.fill(a, i);
    }
    start(options_for(GetParam()));
    EXPECT_EQ(a, std::vector<int>(100, 2));
  }
}

TEST_P(streams, keep_the_hang_diagnosis_silent_while_work_is_in_flight) {
  run([](device& d) -> task<void> {
    auto a = shared_buffer<std::uint64_t>(d, 1, 1);
    stream s = d.make_stream();
    const bool on_host = s.backend() == backend_kind::host;
    s.submit(range{1}, long_work{a.data(), on_host ? 2'000'000 : 20'000'000});
    co_await s.completion();  // the only task
    EXPECT_NE(a.data()[0], 1u);
  });
}

TEST_P(streams, refuse_invalid_requests) {
  stream none;
  EXPECT_FALSE(none);
  EXPECT_THROW(static_cast<void>(none.completion()), usage_error);
  EXPECT_THROW(static_cast<void>(none.record()), usage_error);
  stream s = first().make_stream();
  std::vector<int> three(3);
  std::vector<int> four(4);
  EXPECT_THROW(s.copy(three, four), usage_error);
  EXPECT_THROW(s.submit(range{-1}, affine{}), usage_error);
  s.submit(range{0, 5, 5}, affine{});  // an empty range is valid
  EXPECT_TRUE(s.is_idle());
}

}  // namespace
}  // namespace starling::contract
