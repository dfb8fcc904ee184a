// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include <starling/core/when_all.hpp>

#include "fixture.hpp"

namespace starling::contract {
namespace {

class aggregators : public device_contract {};
INSTANTIATE_TEST_SUITE_P(backends, aggregators, testing::ValuesIn(all_setups), name_of);

/// Starts `count` tasks `body(i)` and waits for all of them.
template <class Body>
task<void> for_all(std::size_t count, Body body) {
  std::vector<future<void>> started;
  for (std::size_t i = 0; i < count; ++i) started.push_back(async(body, i));
  for (future<void>& f : started) co_await std::move(f);
}

constexpr aggregation settings[] = {
    {.most = 1}, {.most = 2, .streams = 1}, {.most = 7, .streams = 2, .depth = 2}, {}};

TEST_P(aggregators, run_the_kernel_of_every_task_once) {
  run([](device& d) -> task<void> {
    for (const aggregation& how : settings)
      for (const std::size_t count : {std::size_t(1), std::size_t(7), std::size_t(150)}) {
        auto a = shared_buffer<std::uint64_t>(d, count, 1);
        aggregator gathered(d, how);
        co_await for_all(count, [&](std::size_t i) -> task<void> {
          co_await gathered.submit(range{1}, affine{a.data() + i, 2, i});
        });
        for (std::size_t i = 0; i < count; ++i) EXPECT_EQ(a.data()[i], 2 + i);
        const aggregation_statistics counts = gathered.statistics();
        EXPECT_EQ(counts.submissions, count);
        EXPECT_LE(counts.largest, how.most);
        EXPECT_GE(counts.launches, (count + how.most - 1) / how.most);
        EXPECT_EQ(counts.divided, 0u);
      }
  });
}

/// Copies to the device, runs two kernels of which the order matters, and copies back.
task<void> go_through(device& d, aggregator& gathered, std::size_t points, std::uint64_t seed) {
  auto host = shared_buffer<std::uint64_t>(d, points, seed);
  auto memory = d.allocate<std::uint64_t>(memory_kind::device, points);
  sequence s = gathered.begin(seed % 5 == 0 ? priority::high : priority::normal);
  for (int round = 0; round < 3; ++round) {
    s.copy(memory, host);
    s.submit(range{static_cast<int>(points)}, affine{memory.data(), 3, seed});
    s.submit(range{static_cast<int>(points)}, affine{memory.data(), 5, 1});
    s.copy(host, memory);
    co_await s.completion();
    EXPECT_TRUE(s.empty());
  }
  std::uint64_t expected = seed;
  for (int round = 0; round < 3; ++round) expected = 5 * (3 * expected + seed) + 1;
  for (const std::uint64_t value : host) EXPECT_EQ(value, expected) << "seed " << seed;
}

TEST_P(aggregators, keep_the_order_within_a_sequence_and_mix_shapes) {
  run([](device& d) -> task<void> {
    for (const aggregation& how : settings) {
      aggregator gathered(d, how);
      co_await for_all(90, [&](std::size_t i) -> task<void> {
        co_await go_through(d, gathered, 1 + i % 3 * 100, i);
      });
      EXPECT_EQ(gathered.statistics().submissions, 270u);
    }
  });
}

TEST_P(aggregators, give_the_bits_of_separate_launches) {
  run([](device& d) -> task<void> {
    constexpr std::size_t points = 100;
    constexpr std::size_t count = 130;
    auto merged = shared_buffer<double>(d, count * points, 0.0);
    auto separate = shared_buffer<double>(d, count * points, 0.0);
    aggregator gathered(d, {.most = 50, .streams = 1});
    stream s = d.make_stream();
    co_await for_all(count, [&](std::size_t i) -> task<void> {
      const double t = 1.0 / (1.0 + static_cast<double>(i));
      polynomial k{separate.data() + i * points, 0.3 * t, 1.7 - t, t * t};
      s.submit(range{points}, k);
      k.out = merged.data() + i * points;
      co_await gathered.submit(range{points}, k);
    });
    co_await s.completion();
    EXPECT_EQ(std::memcmp(merged.data(), separate.data(), count * points * sizeof(double)), 0);
  });
}

TEST_P(aggregators, take_group_kernels) {
  run([](device& d) -> task<void> {
    auto in = shared_buffer<int>(d, 40 * 100, 1);
    auto out = shared_buffer<std::int64_t>(d, 40, -1);
    aggregator gathered(d, {.streams = 1});
    co_await for_all(40, [&](std::size_t i) -> task<void> {
      co_await gathered.submit(range{1}, sum_per_group{in.data() + i * 100, out.data() + i, 100});
    });
    for (const std::int64_t sum : out) EXPECT_EQ(sum, 100);
  });
}

TEST_P(aggregators, complete_into_futures_that_may_be_dropped) {
  auto a = shared_buffer<std::uint64_t>(first(), 100, 0);
  {
    aggregator gathered(first(), {.most = 8, .streams = 1});
    std::vector<future<void>> kept;
    for (std::size_t i = 0; i < 100; ++i) {
      future<void> f = gathered.submit(range{1}, affine{a.data() + i, 1, i}).get_future();
      if (i % 2 == 0) kept.push_back(std::move(f));
    }
    for (future<void>& f : kept) rt().sync_wait(std::move(f));
    for (std::size_t i = 0; i < 100; i += 2) EXPECT_EQ(a.data()[i], i);
  }
  // The aggregator is destroyed; its work continues.
  rt().wait_idle();
  aggregator another(first());
  rt().sync_wait(another.submit(range{1}, affine{a.data(), 1, 0}).get_future());
  for (std::size_t i = 0; i < 100; ++i) EXPECT_EQ(a.data()[i], i);
}

TEST_P(aggregators, complete_an_empty_sequence_at_once) {
  run([](device& d) -> task<void> {
    aggregator gathered(d);
    sequence s = gathered.begin();
    s.submit(range{0}, affine{nullptr, 1, 1});
    s.copy(std::vector<int>(), std::vector<int>());
    EXPECT_TRUE(s.empty());
    co_await s.completion();
    co_await s.completion(std::stop_token());
    co_await s.get_future();
    EXPECT_EQ(gathered.statistics().submissions, 0u);
  });
}

TEST_P(aggregators, may_reuse_a_stopped_sequence) {
  run([](device& d) -> task<void> {
    auto a = shared_buffer<std::uint64_t>(d, 1, 0);
    aggregator gathered(d);
    sequence s = gathered.begin();
    std::stop_source stop;
    stop.request_stop();
    s.submit(range{1}, affine{a.data(), 1, 1});
    bool cancelled = false;
    try {
      co_await s.completion(stop.get_token());
    } catch (const operation_cancelled&) {
      cancelled = true;
    }
    EXPECT_TRUE(cancelled);
    s.submit(range{1}, affine{a.data(), 1, 10});
    co_await s.completion();
    EXPECT_EQ(a.data()[0], 10u);
  });
}

TEST_P(aggregators, refuse_a_batch_limit_that_is_too_large) {
  EXPECT_THROW(aggregator(first(), {.most = 1'000'000}), usage_error);
}

TEST_P(aggregators, drop_sequences_that_are_never_committed) {
  run([](device& d) -> task<void> {
    auto a = shared_buffer<std::uint64_t>(d, 1, 0);
    aggregator gathered(d);
    {
      sequence s = gathered.begin();
      s.submit(range{1}, affine{a.data(), 1, 1});
    }
    co_await gathered.submit(range{1}, affine{a.data(), 1, 10});
    EXPECT_EQ(a.data()[0], 10u);
  });
}

/// Not compiled for any device.
struct nowhere_else {
  int* a;
  void operator()(index3) const { *a = 1; }
};

TEST_P(aggregators, refuse_bad_submissions_while_recording) {
  run([](device& d) -> task<void> {
    auto a = shared_buffer<std::uint64_t>(d, 2, 0);
    EXPECT_THROW(aggregator(d, {.most = 0}), usage_error);
    EXPECT_THROW(aggregator(d, {.streams = 0}), usage_error);
    aggregator gathered(d);
    sequence s = gathered.begin();
    EXPECT_THROW(s.submit(range{-1}, affine{a.data(), 1, 1}), usage_error);
    EXPECT_THROW(s.copy(a.span().first(1), a.span()), usage_error);
    if (d.backend() != backend_kind::host) {
      EXPECT_THROW(s.submit(range{1}, nowhere_else{nullptr}), usage_error);
    }
    s.submit(range{1}, affine{a.data(), 1, 1});
    co_await s.completion();
    EXPECT_EQ(a.data()[0], 1u) << "a refused submission left no trace";
  });
}

TEST_P(aggregators, serve_any_thread) {
  auto a = shared_buffer<std::uint64_t>(first(), 200, 0);
  aggregator gathered(first(), {.streams = 1});
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (std::size_t i = t; i < 200; i += 4)
        rt().sync_wait(gathered.submit(range{1}, affine{a.data() + i, 1, i}).get_future());
    });
  for (std::thread& t : threads) t.join();
  for (std::size_t i = 0; i < 200; ++i) EXPECT_EQ(a.data()[i], i);
}

TEST_P(aggregators, appear_in_the_trace) {
  rt().tracer().enable();
  run([](device& d) -> task<void> {
    auto a = shared_buffer<std::uint64_t>(d, 1, 0);
    aggregator gathered(d, {.name = "region"});
    for (int i = 0; i < 5; ++i) co_await gathered.submit(range{1}, affine{a.data(), 1, 1});
  });
  std::uint64_t launches = 0;
  for (const trace_total& t : rt().tracer().totals())
    if (t.kind == span_kind::user && t.name == "region") launches += t.count;
  EXPECT_EQ(launches, 5u);
}

}  // namespace
}  // namespace starling::contract
