// SPDX-License-Identifier: Apache-2.0
// The protocols of the scheduler under load: sleeping and waking, the end of a run, stopping.
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "support.hpp"

namespace {

using namespace starling;
using namespace starling_stress;

int scaled(int calm, int chaotic) {
  return std::getenv("STARLING_CHAOS") == nullptr ? calm : chaotic;
}

class sleeping_workers : public testing::TestWithParam<unsigned> {};
INSTANTIATE_TEST_SUITE_P(stress, sleeping_workers, testing::Values(1u, 2u, 4u, 8u),
                         [](const auto& made) { return std::to_string(made.param) + "_workers"; });

task<long> tiny(long x) { co_return x; }

task<long> tree(int depth) {
  if (depth == 0) co_return 1;
  auto a = spawn(tree(depth - 1));
  const long b = co_await tree(depth - 1);
  co_return b + co_await a;
}

/// Checks that no hang is reported in error, however often the workers fall asleep: spinning is
/// off, so a worker sleeps whenever it finds no work.
TEST_P(sleeping_workers, never_miss_a_wake_up_nor_see_a_hang) {
  runtime_options options = options_for(1);
  options.workers = GetParam();
  options.spin_us = 0;
  runtime rt(options);
  long sum = 0;
  const int rounds = scaled(3000, 100);
  for (int i = 0; i < rounds; ++i) {
    sum += rt.sync_wait(tiny(1));
    sum += rt.sync_wait(rt.spawn(tiny(1)));
    sum += rt.sync_wait(rt.on_worker(unsigned(i) % rt.worker_count()).spawn(tiny(1)));
    if (i % 100 == 0) sum += rt.sync_wait(tree(6)) - 64;
  }
  EXPECT_EQ(sum, 3L * rounds);
}

TEST_P(sleeping_workers, run_millions_of_tiny_tasks) {
  runtime_options options = options_for(1);
  options.workers = GetParam();
  runtime rt(options);
  const int depth = scaled(18, 10);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(rt.sync_wait(tree(depth)), 1L << depth);
}

TEST_P(sleeping_workers, run_posts_from_many_threads) {
  runtime_options options = options_for(1);
  options.workers = GetParam();
  options.spin_us = 0;
  runtime rt(options);
  std::atomic<long> count{0};
  auto bump = [](std::atomic<long>& n) -> task<> {
    ++n;
    co_return;
  };
  const int each = scaled(2000, 100);
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < each; ++i) {
        if (i % 2 == 0)
          rt.post(bump(count));
        else
          rt.on_worker(unsigned(i + t) % rt.worker_count()).post(bump(count));
      }
    });
  for (auto& t : threads) t.join();
  rt.wait_idle();
  EXPECT_EQ(count, 3L * each);
}

TEST_P(sleeping_workers, end_with_their_runtime_at_any_moment) {
  const int rounds = scaled(300, 20);
  std::atomic<long> count{0};
  auto bump = [](std::atomic<long>& n) -> task<> {
    co_await yield();
    ++n;
  };
  for (int i = 0; i < rounds; ++i) {
    runtime_options options = options_for(1);
    options.workers = GetParam();
    options.spin_us = unsigned(i % 3) * 20;
    runtime rt(options);
    for (int k = 0; k < i % 5; ++k) rt.post(bump(count));
  }
  long expected = 0;
  for (int i = 0; i < rounds; ++i) expected += i % 5;
  EXPECT_EQ(count, expected);
}

/// Alternates real hangs and waits for an outside thread.
TEST_P(sleeping_workers, distinguish_hangs_from_waits) {
  runtime_options options = options_for(1);
  options.workers = GetParam();
  runtime rt(options);
  auto stuck = [](channel<int>& c) -> task<> { co_await c.receive(); };
  const int rounds = scaled(150, 15);
  for (int i = 0; i < rounds; ++i) {
    channel<int> c;
    EXPECT_THROW(rt.sync_wait(stuck(c)), hang_error);
    promise<long> p;
    auto f = p.get_future();
    std::thread outside([&p, token = rt.hold_external_work()] { p.set_value(1); });
    EXPECT_EQ(rt.sync_wait(std::move(f)), 1);
    outside.join();
  }
}

/// The thread that makes the last task ready may still be inside the runtime when the task has run.
TEST_P(sleeping_workers, end_while_an_outside_thread_is_leaving) {
  const int rounds = scaled(1000, 20);
  runtime_options options = options_for(1);
  options.workers = GetParam();
  options.hang_diagnosis = false;  // the threads hold no token for external work
  for (int i = 0; i < rounds; ++i) {
    promise<int> p;
    auto f = p.get_future();
    std::thread outside;
    {
      runtime rt(options);
      outside = std::thread([&p] { p.set_value(1); });
      auto wait = [](future<int> value) -> task<int> { co_return co_await value; };
      if (i % 2 == 0)
        EXPECT_EQ(rt.sync_wait(std::move(f)), 1);
      else
        EXPECT_EQ(rt.sync_wait(rt.on_worker(0).spawn(wait(std::move(f)))), 1);
    }
    outside.join();
  }
}

/// Tasks that a runtime leaves behind, since they cannot be unwound, must never be touched by
/// workers of another runtime that fulfil their promises.
TEST_P(sleeping_workers, fulfil_promises_of_tasks_left_behind) {
  testing::internal::CaptureStderr();
  runtime_options options = options_for(1);
  options.workers = GetParam();
  runtime rt(options);
  auto hopeless = [](std::vector<future<int>> values) -> task<> {
    for (auto& value : values) try {
        co_await value;
      } catch (const hang_error&) {
      }
  };
  auto fulfil = [](promise<int>& p) -> task<> {
    p.set_value(1);
    co_return;
  };
  for (int i = 0; i < scaled(5, 1); ++i) {
    std::vector<promise<int>> promises(100);
    std::vector<future<int>> values;
    for (auto& p : promises) values.push_back(p.get_future());
    std::thread poster;
    {
      runtime other(options);
      other.post(hopeless(std::move(values)));
      poster = std::thread([&] {
        for (auto p = promises.rbegin(); p != promises.rend(); ++p) rt.post(fulfil(*p));
      });
    }
    poster.join();
    rt.wait_idle();
  }
  testing::internal::GetCapturedStderr();
}

/// A child that its parent awaits may run on another worker and change its executor meanwhile.
TEST_P(sleeping_workers, await_children_that_move) {
  runtime_options options = options_for(1);
  options.workers = GetParam();
  runtime rt(options);
  auto child = [](executor high, executor low) -> task<long> {
    for (int i = 0; i < 20; ++i) {
      co_await high.schedule();
      co_await low.schedule();
    }
    co_return 1;
  };
  auto parent = [](auto& make, executor high, executor low, int rounds) -> task<long> {
    long sum = 0;
    for (int i = 0; i < rounds; ++i) {
      future<long> f = high.spawn(make(high, low));
      std::this_thread::yield();
      sum += co_await std::move(f);
    }
    co_return sum;
  };
  const int rounds = scaled(2000, 30);
  EXPECT_EQ(rt.sync_wait(parent(child, rt.get_executor(priority::high), rt.get_executor(), rounds)),
            rounds);
}

TEST(stop_tokens, end_sleeps_that_are_about_to_begin) {
  runtime rt(options_for(1));
  auto nap = [](std::stop_token stop, std::atomic<bool>& begun) -> task<bool> {
    begun = true;
    try {
      co_await sleep_for(std::chrono::hours(1), stop);
    } catch (const operation_cancelled&) {
      co_return true;
    }
    co_return false;
  };
  for (int i = 0; i < scaled(2000, 20); ++i) {
    std::stop_source stop;
    std::atomic<bool> begun{false};
    auto asleep = rt.spawn(nap(stop.get_token(), begun));
    while (!begun) std::this_thread::yield();
    stop.request_stop();
    ASSERT_TRUE(rt.sync_wait(std::move(asleep)));
  }
}

/// Stops many waits through their stop tokens while they complete.
TEST(stop_tokens, and_completions_agree_on_every_outcome) {
  for (std::uint64_t seed = first_seed(), end = seed + seeds(60); seed < end; ++seed) {
    random_source random(seed);
    channel<int> c(std::size_t(random.below(3)));
    std::atomic<int> received{0};
    std::atomic<int> sent{0};
    std::atomic<int> cancelled{0};
    auto receiver = [](channel<int>& ch, std::stop_token stop, auto& got, auto& gone) -> task<> {
      try {
        while (co_await ch.receive(stop)) ++got;
      } catch (const operation_cancelled&) {
        ++gone;
      }
    };
    auto sender = [](channel<int>& ch, std::stop_token stop, auto& out, auto& gone) -> task<> {
      try {
        for (int i = 0; i < 50; ++i) {
          co_await ch.send(i, stop);
          ++out;
        }
      } catch (const operation_cancelled&) {
        ++gone;
      }
    };
    runtime rt(options_for(seed));
    std::vector<std::stop_source> sources(6);
    for (int i = 0; i < 3; ++i) {
      rt.post(receiver(c, sources[std::size_t(2 * i)].get_token(), received, cancelled));
      rt.post(sender(c, sources[std::size_t(2 * i + 1)].get_token(), sent, cancelled));
    }
    std::vector<std::thread> stoppers;
    for (auto& s : sources)
      stoppers.emplace_back([&s, token = rt.hold_external_work()] { s.request_stop(); });
    for (auto& t : stoppers) t.join();
    rt.wait_idle();
    EXPECT_EQ(received + int(c.size()), sent) << "seed " << seed;
    EXPECT_GE(cancelled, 3) << "seed " << seed;
    EXPECT_EQ(rt.describe_awaiters(), "") << "seed " << seed;
  }
}

/// A thread fulfils promises while another requests a stop: each race has one result, and no thread
/// touches a race after its end.
TEST(races, survive_winners_losers_and_stops_at_once) {
  for (std::uint64_t seed = first_seed(), end = seed + seeds(60); seed < end; ++seed) {
    random_source random(seed);
    runtime rt(options_for(seed));
    for (int round = 0; round < 20; ++round) {
      std::vector<promise<int>> promises(std::size_t(1 + random.below(4)));
      std::vector<future<int>> inputs;
      for (auto& p : promises) inputs.push_back(p.get_future());
      std::stop_source stop;
      auto race = rt.spawn(when_any(std::move(inputs), stop.get_token()));
      std::thread stopper([&stop, token = rt.hold_external_work()] { stop.request_stop(); });
      std::thread producer([&promises, token = rt.hold_external_work()] {
        for (auto& p : promises) p.set_value(1);
      });
      try {
        auto result = rt.sync_wait(std::move(race));
        EXPECT_TRUE(result.futures[result.index].is_ready());
      } catch (const operation_cancelled&) {
      }
      stopper.join();
      producer.join();
    }
  }
}

}  // namespace
