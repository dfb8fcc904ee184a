// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <cstdint>
#include <memory>
#include <new>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "fixture.hpp"

namespace starling::contract {
namespace {

/// Sequences gather while a stream is kept busy by waiting kernels: on the host only.
class gathering : public device_contract {
 protected:
  void SetUp() override {
    device_contract::SetUp();
    if (!IsSkipped() && !on_host()) GTEST_SKIP() << "kernels can wait for the host only there";
  }
};
INSTANTIATE_TEST_SUITE_P(backends, gathering, testing::ValuesIn(all_setups), name_of);

/// Keeps its stream busy from `shut` until `open`.
struct hold {
  static constexpr const char* name = "hold";
  enum state { idle, shut, open };
  std::atomic<int>* gate;
  void operator()(index3) const {
    gate->store(shut);
    while (gate->load() != open) std::this_thread::yield();
  }
};

class held_stream {
 public:
  /// Returns when the stream runs the kernel, on another worker.
  static task<std::unique_ptr<held_stream>> of(aggregator& gathered) {
    auto self = std::make_unique<held_stream>();
    self->m_over = spawn(hold_it(gathered, self->m_gate));
    while (self->m_gate.load() != hold::shut) co_await yield();
    co_return self;
  }
  ~held_stream() { m_gate.store(hold::open); }
  future<void> release() {
    m_gate.store(hold::open);
    return std::move(m_over);
  }

 private:
  static task<void> hold_it(aggregator& gathered, std::atomic<int>& gate) {
    co_await gathered.submit(range{1}, hold{&gate});
  }
  std::atomic<int> m_gate{hold::idle};
  future<void> m_over;
};

task<void> add_one(aggregator& gathered, std::uint64_t* a, std::stop_token stop = {},
                   starling::priority priority = starling::priority::normal) {
  sequence s = gathered.begin(priority);
  s.submit(range{1}, affine{a, 1, 1});
  co_await s.completion(std::move(stop));
}

/// Commits `count` sequences that each add 1.
std::vector<future<void>> add_to_each(aggregator& gathered, std::uint64_t* a, std::size_t count) {
  std::vector<future<void>> started;
  for (std::size_t i = 0; i < count; ++i)
    started.push_back(gathered.submit(range{1}, affine{a + i, 1, 1}).get_future());
  return started;
}

TEST_P(gathering, makes_one_launch_of_submissions_that_arrive_while_the_stream_is_busy) {
  run([](device& d) -> task<void> {
    auto a = shared_buffer<std::uint64_t>(d, 17, 0);
    aggregator gathered(d, {.most = 64, .streams = 1});
    auto held = co_await held_stream::of(gathered);
    auto waiting = add_to_each(gathered, a.data(), 17);
    EXPECT_EQ(gathered.statistics().launches, 1u) << "the one that holds the stream";
    co_await held->release();
    for (future<void>& f : waiting) co_await std::move(f);
    const aggregation_statistics counts = gathered.statistics();
    EXPECT_EQ(counts.launches, 2u);
    EXPECT_EQ(counts.largest, 17u);
    EXPECT_EQ(counts.submissions, 18u);
    EXPECT_EQ(counts.mean(), 9.0);
    EXPECT_GT(counts.waiting_ns, 0u);
    for (const std::uint64_t value : a) EXPECT_EQ(value, 1u);
  });
}

TEST_P(gathering, divides_large_batches_among_workers) {
  run([](device& d) -> task<void> {
    constexpr std::size_t points = 5000;
    constexpr std::size_t count = 9;
    auto a = shared_buffer<std::uint64_t>(d, count * points, 1);
    auto b = shared_buffer<std::uint64_t>(d, count * points, 0);
    aggregator gathered(d, {.streams = 1});
    auto held = co_await held_stream::of(gathered);
    std::vector<future<void>> waiting;
    for (std::size_t i = 0; i < count; ++i) {
      sequence s = gathered.begin();
      s.submit(range{points}, affine{a.data() + i * points, 3, i});
      s.copy(b.span().subspan(i * points, points), a.span().subspan(i * points, points));
      s.submit(range{points}, affine{b.data() + i * points, 2, 1});
      waiting.push_back(s.get_future());
    }
    co_await held->release();
    for (future<void>& f : waiting) co_await std::move(f);
    EXPECT_EQ(gathered.statistics().largest, count);
    for (std::size_t k = 0; k < count * points; ++k)
      if (b.data()[k] != 2 * (3 + k / points) + 1) {
        ADD_FAILURE() << "number " << k << " is " << b.data()[k];
        break;
      }
  });
}

TEST_P(gathering, launches_at_the_maximum_although_the_stream_is_busy) {
  if (std::string(GetParam().completion) == "block")
    GTEST_SKIP() << "the launching thread waits in place there";
  run([](device& d) -> task<void> {
    auto a = shared_buffer<std::uint64_t>(d, 10, 0);
    aggregator gathered(d, {.most = 4, .streams = 1});
    auto held = co_await held_stream::of(gathered);
    auto waiting = add_to_each(gathered, a.data(), 10);
    EXPECT_EQ(gathered.statistics().launches, 3u);
    EXPECT_EQ(gathered.statistics().submissions, 9u) << "two wait for the stream";
    co_await held->release();
    for (future<void>& f : waiting) co_await std::move(f);
    EXPECT_EQ(gathered.statistics().launches, 4u);
    for (const std::uint64_t value : a) EXPECT_EQ(value, 1u);
  });
}

TEST_P(gathering, keeps_shapes_apart) {
  run([](device& d) -> task<void> {
    auto a = shared_buffer<std::uint64_t>(d, 12, 0);
    aggregator gathered(d, {.streams = 1});
    auto held = co_await held_stream::of(gathered);
    std::vector<future<void>> waiting;
    for (std::size_t i = 0; i < 12; ++i) {
      sequence s = gathered.begin();
      if (i % 4 == 0) s.submit(range{1}, affine{a.data() + i, 1, 1});
      if (i % 4 == 1) s.submit(range{1, 1, 1}, add_to{a.data() + i, a.data() + i, 1});
      if (i % 4 == 2) s.submit(range{2}, affine{a.data() + i, 1, 1});  // the next element too
      if (!s.empty()) waiting.push_back(s.get_future());
    }
    co_await held->release();
    for (future<void>& f : waiting) co_await std::move(f);
    EXPECT_EQ(gathered.statistics().launches, 4u);
    EXPECT_EQ(gathered.statistics().largest, 3u);
    for (const std::uint64_t value : a) EXPECT_EQ(value, 1u);
  });
}

TEST_P(gathering, lets_high_priority_work_overtake) {
  run([](device& d) -> task<void> {
    auto a = shared_buffer<std::uint64_t>(d, 2, 0);
    aggregator gathered(d, {.streams = 1});
    auto held = co_await held_stream::of(gathered);
    auto normal = gathered.submit(range{1}, affine{a.data(), 1, 1}).get_future();
    co_await add_one(gathered, a.data() + 1, {}, priority::high);
    EXPECT_EQ(a.data()[1], 1u);
    EXPECT_FALSE(normal.is_ready());
    co_await held->release();
    co_await std::move(normal);
  });
}

/// Counts just before it commits. A kernel that holds the stream leaves one worker for all tasks: a
/// task that reads the new count finds the sequence committed.
task<void> add_one_and_tell(aggregator& gathered, std::uint64_t* a, std::stop_token stop,
                            int& committed) {
  sequence s = gathered.begin();
  s.submit(range{1}, affine{a, 1, 1});
  ++committed;
  co_await s.completion(std::move(stop));
}

TEST_P(gathering, withdraws_cancelled_submissions_and_launches_the_remaining_ones) {
  run([](device& d) -> task<void> {
    auto a = shared_buffer<std::uint64_t>(d, 5, 0);
    aggregator gathered(d, {.streams = 1});
    auto held = co_await held_stream::of(gathered);
    std::stop_source stop;
    int committed = 0;
    std::vector<future<void>> tasks;
    for (std::size_t i = 0; i < 5; ++i)
      tasks.push_back(spawn(add_one_and_tell(
          gathered, a.data() + i, i < 3 ? stop.get_token() : std::stop_token(), committed)));
    while (committed < 5) co_await yield();
    EXPECT_EQ(gathered.statistics().withdrawn, 0u);
    stop.request_stop();
    EXPECT_EQ(gathered.statistics().withdrawn, 3u);
    for (std::size_t i = 0; i < 3; ++i) {
      bool cancelled = false;
      try {
        co_await std::move(tasks[i]);
      } catch (const operation_cancelled&) {
        cancelled = true;
      }
      EXPECT_TRUE(cancelled);
    }
    co_await held->release();
    for (std::size_t i = 3; i < 5; ++i) co_await std::move(tasks[i]);
    for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(a.data()[i], i < 3 ? 0u : 1u);
    const aggregation_statistics counts = gathered.statistics();
    EXPECT_EQ(counts.submissions, 3u) << "and the one that held the stream";
    EXPECT_EQ(counts.launches, 2u);
    EXPECT_EQ(counts.largest, 2u);
    EXPECT_EQ(counts.mean(), 1.5);
  });
}

TEST_P(gathering, survives_the_cancellation_of_all_submissions) {
  run([](device& d) -> task<void> {
    auto a = shared_buffer<std::uint64_t>(d, 1, 0);
    aggregator gathered(d, {.streams = 1});
    auto held = co_await held_stream::of(gathered);
    std::stop_source stop;
    future<void> left = spawn(add_one(gathered, a.data(), stop.get_token()));
    co_await yield();
    stop.request_stop();
    bool cancelled = false;
    try {
      co_await std::move(left);
    } catch (const operation_cancelled&) {
      cancelled = true;
    }
    EXPECT_TRUE(cancelled);
    co_await held->release();
    co_await add_one(gathered, a.data());
    EXPECT_EQ(a.data()[0], 1u);
    EXPECT_EQ(gathered.statistics().launches, 2u);
  });
}

TEST_P(gathering, does_not_cancel_launched_work) {
  run([](device& d) -> task<void> {
    std::atomic<int> gate{hold::idle};
    aggregator gathered(d, {.streams = 1});
    std::stop_source stop;
    future<void> launched =
        spawn([](aggregator& g, std::atomic<int>* p, std::stop_token t) -> task<void> {
          sequence s = g.begin();
          s.submit(range{1}, hold{p});
          co_await s.completion(std::move(t));
        }(gathered, &gate, stop.get_token()));
    while (gate.load() != hold::shut) co_await yield();
    stop.request_stop();
    EXPECT_FALSE(launched.is_ready());
    gate.store(hold::open);
    co_await std::move(launched);  // no operation_cancelled
  });
}

/// Fails if `bad`, else counts.
struct fails_if {
  static constexpr const char* name = "fails_if";
  std::uint64_t* a;
  int bad;
  void operator()(index3) const {
    if (bad == 1) throw std::runtime_error("member is cursed");
    if (bad == 2) throw std::bad_alloc();
    *a += 1;
  }
};

task<std::string> error_of(future<void> f) {
  try {
    co_await std::move(f);
  } catch (const device_error& e) {
    co_return e.what();
  }
  co_return "";
}

TEST_P(gathering, reports_an_error_to_the_failed_task_only) {
  run([](device& d) -> task<void> {
    auto a = shared_buffer<std::uint64_t>(d, 20, 0);
    aggregator gathered(d, {.streams = 1, .name = "flux"});
    auto held = co_await held_stream::of(gathered);
    std::vector<future<void>> waiting;
    for (std::size_t i = 0; i < 20; ++i) {
      sequence s = gathered.begin();
      s.submit(range{1}, fails_if{a.data() + i, i == 4 ? 1 : i == 9 ? 2 : 0});
      s.submit(range{1}, affine{a.data() + i, 1, 10});
      waiting.push_back(s.get_future());
    }
    co_await held->release();
    for (std::size_t i = 0; i < 20; ++i) {
      const std::string text = co_await error_of(std::move(waiting[i]));
      EXPECT_EQ(text.empty(), i != 4 && i != 9) << text;
      EXPECT_EQ(a.data()[i], text.empty() ? 11u : 0u) << "the rest of a failed one is skipped";
      if (i != 4) continue;
      for (const char* part : {"fails_if", "cursed", "host device 0", "flux"})
        EXPECT_NE(text.find(part), std::string::npos) << text;
    }
    EXPECT_EQ(gathered.statistics().largest, 20u);
    co_await add_one(gathered, a.data());  // the stream works
    EXPECT_EQ(a.data()[0], 12u);
  });
}

TEST_P(gathering, reports_the_error_of_a_batch_of_one) {
  run([](device& d) -> task<void> {
    auto a = shared_buffer<std::uint64_t>(d, 1, 0);
    aggregator gathered(d);
    sequence s = gathered.begin();
    s.submit(range{1}, fails_if{a.data(), 1});
    EXPECT_THROW(co_await s.completion(), device_error);
    s.submit(range{1}, fails_if{a.data(), 0});  // may be used again
    co_await s.completion();
    EXPECT_EQ(a.data()[0], 1u);
  });
}

TEST_P(gathering, does_not_wait_for_absent_tasks) {
  run([](device& d) -> task<void> {
    auto a = shared_buffer<std::uint64_t>(d, 3, 0);
    aggregator gathered(d, {.most = 4, .streams = 1});
    auto held = co_await held_stream::of(gathered);
    auto waiting = add_to_each(gathered, a.data(), 3);
    co_await held->release();
    for (future<void>& f : waiting) co_await std::move(f);
    for (const std::uint64_t value : a) EXPECT_EQ(value, 1u);
  });
}

}  // namespace
}  // namespace starling::contract
