// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "support.hpp"

namespace {

using namespace starling;
using namespace starling_test;
using namespace std::chrono_literals;

class a_runtime : public with_workers {};
INSTANTIATE_TEST_SUITE_P(core, a_runtime, worker_counts, worker_count_name);

task<int> number(int x) { co_return x; }
task<int> failing() {
  throw std::invalid_argument("bad");
  co_return 0;
}

TEST_P(a_runtime, waits_for_a_task_a_future_and_a_shared_future) {
  EXPECT_EQ(rt.sync_wait(number(1)), 1);
  EXPECT_EQ(rt.sync_wait(rt.spawn(number(2))), 2);
  EXPECT_EQ(rt.sync_wait(rt.spawn(number(3)).share()), 3);
}

TEST_P(a_runtime, rethrows_the_exception_of_the_task_in_sync_wait) {
  EXPECT_THROW(rt.sync_wait(failing()), std::invalid_argument);
  EXPECT_THROW(rt.sync_wait(rt.spawn(failing())), std::invalid_argument);
}

TEST_P(a_runtime, forbids_sync_wait_on_its_workers) {
  const std::string said = message_of<usage_error>([this] {
    rt.sync_wait([](runtime& r) -> task<int> { co_return r.sync_wait(number(1)); }(rt));
  });
  EXPECT_NE(said.find("co_await"), std::string::npos) << said;
  EXPECT_THROW(rt.sync_wait([](runtime& r) -> task<> {
    r.wait_idle();
    co_return;
  }(rt)),
               usage_error);
}

TEST_P(a_runtime, forbids_blocking_on_the_workers_of_another_one) {
  runtime other(options_with(1));
  const std::string said = message_of<usage_error>([&] {
    rt.sync_wait([](runtime& r) -> task<int> { co_return r.sync_wait(number(1)); }(other));
  });
  EXPECT_NE(said.find("co_await"), std::string::npos) << said;
  EXPECT_THROW(rt.sync_wait([](runtime& r) -> task<> {
    r.wait_idle();
    co_return;
  }(other)),
               usage_error);
}

TEST_P(a_runtime, serves_several_waiting_threads) {
  std::vector<std::thread> threads;
  std::atomic<int> sum{0};
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) sum += rt.sync_wait(number(1));
    });
  for (auto& t : threads) t.join();
  EXPECT_EQ(sum, 200);
}

TEST_P(a_runtime, survives_many_short_waits) {
  // Workers sleep and wake up again and again: a lost wake-up stops the test here.
  const int rounds = many(3000, 50);
  long sum = 0;
  for (int i = 0; i < rounds; ++i) sum += rt.sync_wait(number(i));
  EXPECT_EQ(sum, long(rounds) * (rounds - 1) / 2);
}

TEST_P(a_runtime, drains_posted_work_before_it_ends) {
  std::atomic<int> count{0};
  {
    runtime other(options_with(GetParam()));
    auto chain = [](auto& self, std::atomic<int>& n, int depth) -> task<> {
      ++n;
      co_await yield();
      if (depth > 0) post(self(self, n, depth - 1));
    };
    for (int i = 0; i < 10; ++i) other.post(chain(chain, count, 20));
    other.wait_idle();
    for (int i = 0; i < 10; ++i) other.post(chain(chain, count, 20));
  }
  EXPECT_EQ(count, 2 * 10 * 21);
}

TEST_P(a_runtime, that_does_nothing_ends) {
  for (int i = 0; i < many(50, 10); ++i) runtime other(options_with(GetParam()));
}

TEST_P(a_runtime, reports_the_error_of_a_posted_task_in_wait_idle) {
  rt.post(failing());
  EXPECT_THROW(rt.wait_idle(), std::invalid_argument);
  rt.wait_idle();  // the error is thrown once
}

TEST_P(a_runtime, prints_the_error_of_a_posted_task_without_a_waiter) {
  testing::internal::CaptureStderr();
  {
    runtime other(options_with(GetParam()));
    other.post(failing());
  }
  const std::string printed = testing::internal::GetCapturedStderr();
  EXPECT_NE(printed.find("posted task failed"), std::string::npos) << printed;
  EXPECT_NE(printed.find("bad"), std::string::npos) << printed;
}

TEST_P(a_runtime, leaves_suspended_servers_alone_when_idle) {
  channel<int> requests;
  auto server = rt.spawn([](channel<int>& c) -> task<int> {
    int sum = 0;
    while (auto v = co_await c.receive()) sum += *v;
    co_return sum;
  }(requests));
  rt.wait_idle();
  EXPECT_TRUE(requests.try_send(2));
  rt.wait_idle();
  EXPECT_TRUE(requests.try_send(3));
  requests.close();
  EXPECT_EQ(rt.sync_wait(std::move(server)), 5);
}

TEST_P(a_runtime, exchanges_futures_with_another_one) {
  runtime other(options_with(2));
  auto remote = [](int x) -> task<int> {
    for (int i = 0; i < 5; ++i) co_await yield();
    co_return x;
  };
  auto use = [](runtime& mine, runtime& yours, auto& f) -> task<int> {
    int sum = 0;
    for (int i = 0; i < 50; ++i) {
      sum += co_await yours.spawn(f(1));
      if (runtime::current() != &mine) throw std::logic_error("resumed by the wrong runtime");
    }
    co_return sum;
  };
  EXPECT_EQ(rt.sync_wait(use(rt, other, remote)), 50);
  EXPECT_EQ(other.sync_wait(use(other, rt, remote)), 50);
}

TEST_P(a_runtime, shares_channels_with_another_one) {
  runtime other(options_with(1));
  channel<int> c(3);
  auto sender = other.spawn([](channel<int>& ch) -> task<> {
    for (int i = 0; i < 200; ++i) co_await ch.send(1);
    ch.close();
  }(c));
  const int sum = rt.sync_wait([](channel<int>& ch, runtime& mine) -> task<int> {
    int total = 0;
    while (auto v = co_await ch.receive()) {
      total += *v;
      if (runtime::current() != &mine) throw std::logic_error("resumed by the wrong runtime");
    }
    co_return total;
  }(c, rt));
  other.sync_wait(std::move(sender));
  EXPECT_EQ(sum, 200);
}

TEST_P(a_runtime, is_not_hung_while_another_one_works_for_it) {
  runtime other(options_with(1));
  promise<int> answer;
  auto f = answer.get_future();
  // No task of `rt` can fulfil this; a sleeping task of `other` will.
  other.post([](promise<int> p) -> task<> {
    co_await sleep_for(5ms);
    p.set_value(7);
  }(std::move(answer)));
  EXPECT_EQ(rt.sync_wait(std::move(f)), 7);
}

TEST_P(a_runtime, reports_no_hang_while_external_work_is_held) {
  struct where {
    std::atomic<int> worker{-1};
    std::uint64_t slept = 0;
  } start;
  promise<int> p;
  // Fulfilled only after the worker has fallen asleep, and so after the check for a hang.
  std::thread outside([&, token = rt.hold_external_work()] {
    while (start.worker < 0) std::this_thread::yield();
    while (rt.statistics(unsigned(start.worker.load())).slept == start.slept)
      std::this_thread::yield();
    p.set_value(3);
  });
  const int value = rt.sync_wait([](runtime& r, future<int> f, where& s) -> task<int> {
    co_await r.on_worker(0).schedule();
    s.slept = r.statistics(0).slept;
    s.worker = 0;
    co_return co_await f;
  }(rt, p.get_future(), start));
  outside.join();
  EXPECT_EQ(value, 3);
}

TEST_P(a_runtime, uses_no_processor_time_while_idle) {
  rt.sync_wait(number(1));
  rt.wait_idle();
  runtime clock(options_with(1));
  const auto snapshot = [this] {
    std::vector<std::uint64_t> counts;
    for (unsigned i = 0; i < rt.worker_count(); ++i) {
      const worker_statistics s = rt.statistics(i);
      counts.insert(counts.end(), {s.resumed, s.stolen, s.slept, s.polled});
    }
    return counts;
  };
  // Workers may still be about to sleep; after that no counter changes.
  bool still = false;
  for (int attempt = 0; attempt < 100 && !still; ++attempt) {
    const auto before = snapshot();
    clock.sync_wait([]() -> task<> { co_await sleep_for(20ms); }());
    still = snapshot() == before;
  }
  EXPECT_TRUE(still) << "workers of an idle runtime keep looking for work";
}

TEST_P(a_runtime, is_the_current_one_on_its_workers_only) {
  EXPECT_EQ(runtime::current(), nullptr);
  EXPECT_EQ(rt.sync_wait([]() -> task<runtime*> { co_return runtime::current(); }()), &rt);
}

TEST_P(a_runtime, makes_a_service_once_and_ends_services_in_reverse) {
  static std::string log;
  log.clear();
  struct first {
    explicit first(runtime&) { log += "1"; }
    ~first() { log += "a"; }
  };
  struct second {
    explicit second(runtime& r) : owner(&r) { log += "2"; }
    ~second() { log += "b"; }
    runtime* owner;
  };
  {
    runtime other(options_with(GetParam()));
    first& a = other.service<first>();
    EXPECT_EQ(other.service<second>().owner, &other);
    EXPECT_EQ(&other.service<first>(), &a);
  }
  EXPECT_EQ(log, "12ba");
}

TEST_P(a_runtime, makes_services_that_need_further_services) {
  static std::string log;
  log.clear();
  struct inner {
    explicit inner(runtime&) { log += "1"; }
    ~inner() { log += "a"; }
  };
  struct outer {
    explicit outer(runtime& r) : used(r.service<inner>()) { log += "2"; }
    ~outer() { log += "b"; }
    inner& used;
  };
  {
    runtime other(options_with(GetParam()));
    outer& made = other.service<outer>();
    EXPECT_EQ(&made.used, &other.service<inner>());
  }
  EXPECT_EQ(log, "12ba");  // a used service outlives its users
}

TEST_P(a_runtime, refuses_a_service_that_needs_itself) {
  struct circle {
    explicit circle(runtime& r) { r.service<circle>(); }
  };
  for (int i = 0; i < 2; ++i) {
    const std::string said = message_of<usage_error>([this] { rt.service<circle>(); });
    EXPECT_NE(said.find("circle"), std::string::npos) << said;
  }
}

TEST_P(a_runtime, counts_events_of_its_workers) {
  rt.sync_wait([]() -> task<> {
    for (int i = 0; i < 100; ++i) co_await yield();
  }());
  std::uint64_t resumed = 0;
  for (unsigned i = 0; i < rt.worker_count(); ++i) resumed += rt.statistics(i).resumed;
  EXPECT_GE(resumed, 100u);
}

// However small the earlier tasks were, so that the newest task is in the slot that thieves check
// last.
TEST_P(a_runtime, runs_an_only_task_beside_a_long_one) {
  if (rt.worker_count() == 1) GTEST_SKIP() << "needs a second worker";
  auto small = []() -> task<> { co_return; };
  auto note = [](std::atomic<bool>& begun) -> task<> {
    begun = true;
    co_return;
  };
  auto program = [](auto first, auto second) -> task<> {
    for (int round = 0; round < 5; ++round) {
      for (int i = 0; i < 1000; ++i) co_await spawn(first());
      std::atomic<bool> begun{false};
      future<> only = spawn(second(begun));
      while (!begun) std::this_thread::yield();  // another worker has to take it
      co_await only;
    }
  };
  rt.sync_wait(program(small, note));
  runtime_options options = options_with(GetParam());
  options.spin_us = 0;  // the remaining workers sleep
  runtime hasty(options);
  hasty.sync_wait(program(small, note));
}

// The same for a pinned program, which wakes one worker only: all remaining workers sleep deeply.
TEST_P(a_runtime, runs_an_only_task_beside_a_long_pinned_one) {
  if (rt.worker_count() == 1) GTEST_SKIP() << "needs a second worker";
  auto note = [](std::atomic<bool>& begun) -> task<> {
    begun = true;
    co_return;
  };
  auto program = [](auto only_task, std::atomic<bool>& d) -> task<> {
    for (int i = 0; i < 1000; ++i) co_await yield();
    std::atomic<bool> begun{false};
    future<> only = spawn(only_task(begun));
    while (!begun) std::this_thread::yield();  // another worker has to take it
    co_await only;
    d = true;
  };
  runtime_options options = options_with(GetParam());
  options.spin_us = 0;
  runtime hasty(options);
  for (unsigned round = 0; round < 10; ++round) {
    // Most likely all workers fall asleep.
    const auto limit = std::chrono::steady_clock::now() + std::chrono::milliseconds(1);
    while (std::chrono::steady_clock::now() < limit) std::this_thread::yield();
    std::atomic<bool> done{false};
    hasty.on_worker(round % GetParam()).post(program(note, done));
    while (!done) std::this_thread::yield();  // sync_wait would wake another worker
  }
}

TEST(a_runtime_of_the_default_size, has_at_least_one_worker) {
  runtime rt(options_with(0));
  EXPECT_GE(rt.worker_count(), 1u);
  EXPECT_EQ(rt.options().workers, rt.worker_count());
}

TEST(exit_with_a_live_runtime, keeps_its_exit_code) {
  EXPECT_EXIT(
      {
        auto* rt = new runtime(options_with(2));
        rt->sync_wait(number(1));
        std::exit(3);
      },
      testing::ExitedWithCode(3), "");
}

}  // namespace
