// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "support.hpp"

namespace {

using namespace starling;
using namespace starling_test;
using namespace std::chrono_literals;

class a_stop_token : public with_workers {
 protected:
  std::stop_source stop;
};
INSTANTIATE_TEST_SUITE_P(core, a_stop_token, worker_counts, worker_count_name);

/// Receives and returns "value …", "cancelled", "closed" or "nothing".
task<std::string> receive_word(channel<int>& c, std::stop_token stop) {
  try {
    const auto v = co_await c.receive(stop);
    co_return v ? "value " + std::to_string(*v) : "nothing";
  } catch (const operation_cancelled&) {
    co_return "cancelled";
  }
}

task<std::string> send_word(channel<int>& c, int value, std::stop_token stop) {
  try {
    co_await c.send(value, stop);
    co_return "sent";
  } catch (const operation_cancelled&) {
    co_return "cancelled";
  } catch (const channel_closed&) {
    co_return "closed";
  }
}

task<std::string> await_word(future<int> f, std::stop_token stop) {
  try {
    co_return "value " + std::to_string(co_await cancellable(std::move(f), stop));
  } catch (const operation_cancelled&) {
    co_return "cancelled";
  }
}

TEST_P(a_stop_token, ends_the_wait_for_a_future) {
  promise<int> never;
  auto waiting = rt.spawn(await_word(never.get_future(), stop.get_token()));
  rt.wait_idle();
  stop.request_stop();
  EXPECT_EQ(rt.sync_wait(std::move(waiting)), "cancelled");
  never.set_value(1);  // no waiter remains
}

TEST_P(a_stop_token, does_not_end_a_wait_that_completes_first) {
  promise<int> p;
  auto waiting = rt.spawn(await_word(p.get_future(), stop.get_token()));
  p.set_value(4);
  EXPECT_EQ(rt.sync_wait(std::move(waiting)), "value 4");
  stop.request_stop();
}

TEST_P(a_stop_token, that_is_already_stopped_keeps_a_ready_result) {
  stop.request_stop();
  promise<int> never;
  EXPECT_EQ(rt.sync_wait(await_word(make_ready_future(2), stop.get_token())), "value 2");
  EXPECT_EQ(rt.sync_wait(await_word(never.get_future(), stop.get_token())), "cancelled");
}

TEST_P(a_stop_token, that_can_never_stop_costs_nothing) {
  EXPECT_EQ(rt.sync_wait(await_word(make_ready_future(2), {})), "value 2");
  channel<int> c(1);
  EXPECT_EQ(rt.sync_wait(send_word(c, 3, {})), "sent");
  EXPECT_EQ(rt.sync_wait(receive_word(c, {})), "value 3");
}

TEST_P(a_stop_token, detaches_the_work_but_lets_it_finish) {
  promise<> gate;
  promise<int> done;
  auto finished = done.get_future();
  auto work = rt.spawn([](future<> g, promise<int> d) -> task<int> {
    co_await g;
    d.set_value(1);
    co_return 1;
  }(gate.get_future(), std::move(done)));
  auto waiting = rt.spawn(await_word(std::move(work), stop.get_token()));
  rt.wait_idle();
  stop.request_stop();
  EXPECT_EQ(rt.sync_wait(std::move(waiting)), "cancelled");
  gate.set_value();
  EXPECT_EQ(rt.sync_wait(std::move(finished)), 1);
}

TEST_P(a_stop_token, carries_an_error_through) {
  auto failing = []() -> task<int> {
    throw std::runtime_error("inner");
    co_return 0;
  };
  EXPECT_THROW(rt.sync_wait(cancellable(rt.spawn(failing()), stop.get_token())),
               std::runtime_error);
}

TEST_P(a_stop_token, ends_when_any) {
  std::vector<promise<int>> promises(3);
  std::vector<future<int>> inputs;
  for (auto& p : promises) inputs.push_back(p.get_future());
  auto racing = rt.spawn(when_any(std::move(inputs), stop.get_token()));
  rt.wait_idle();
  stop.request_stop();
  EXPECT_THROW(rt.sync_wait(std::move(racing)), operation_cancelled);
}

TEST_P(a_stop_token, ends_a_receive) {
  channel<int> c;
  auto waiting = rt.spawn(receive_word(c, stop.get_token()));
  rt.wait_idle();
  stop.request_stop();
  EXPECT_EQ(rt.sync_wait(std::move(waiting)), "cancelled");
  EXPECT_TRUE(c.try_send(1));
  EXPECT_EQ(c.size(), 1u);  // the value was not given to the cancelled waiter
}

TEST_P(a_stop_token, ends_a_send_without_sending) {
  channel<int> c(1);
  EXPECT_TRUE(c.try_send(1));
  auto waiting = rt.spawn(send_word(c, 2, stop.get_token()));
  rt.wait_idle();
  stop.request_stop();
  EXPECT_EQ(rt.sync_wait(std::move(waiting)), "cancelled");
  EXPECT_EQ(c.try_receive(), 1);
  EXPECT_EQ(c.try_receive(), std::nullopt);
}

TEST_P(a_stop_token, keeps_channel_operations_that_complete_at_once) {
  channel<int> c(1);
  stop.request_stop();
  EXPECT_EQ(rt.sync_wait(send_word(c, 1, stop.get_token())), "sent");
  EXPECT_EQ(rt.sync_wait(send_word(c, 2, stop.get_token())), "cancelled");
  EXPECT_EQ(rt.sync_wait(receive_word(c, stop.get_token())), "value 1");
  EXPECT_EQ(rt.sync_wait(receive_word(c, stop.get_token())), "cancelled");
  c.close();
  EXPECT_EQ(rt.sync_wait(receive_word(c, stop.get_token())), "nothing");
  EXPECT_EQ(rt.sync_wait(send_word(c, 2, stop.get_token())), "closed");
}

TEST_P(a_stop_token, ends_a_long_sleep) {
  auto sleeper = rt.spawn([](std::stop_token token) -> task<std::string> {
    try {
      co_await sleep_for(24h, token);
      co_return "slept";
    } catch (const operation_cancelled&) {
      co_return "cancelled";
    }
  }(stop.get_token()));
  auto stopper = rt.spawn([](std::stop_source s) -> task<> {
    co_await sleep_for(1ms);
    s.request_stop();
  }(stop));
  EXPECT_EQ(rt.sync_wait(std::move(sleeper)), "cancelled");
  rt.sync_wait(std::move(stopper));
}

TEST_P(a_stop_token, that_is_already_stopped_prevents_a_sleep) {
  stop.request_stop();
  EXPECT_THROW(rt.sync_wait([](std::stop_token token) -> task<> {
    co_await sleep_until(std::chrono::steady_clock::now() + 24h, token);
  }(stop.get_token())),
               operation_cancelled);
}

TEST_P(a_stop_token, does_not_shorten_a_sleep_that_ends_by_itself) {
  const auto begin = std::chrono::steady_clock::now();
  rt.sync_wait(
      [](std::stop_token token) -> task<> { co_await sleep_for(2ms, token); }(stop.get_token()));
  EXPECT_GE(std::chrono::steady_clock::now() - begin, 2ms);
}

TEST_P(a_stop_token, reaches_a_child_task_that_polls_it) {
  auto worker = rt.spawn([](std::stop_token token) -> task<long> {
    long steps = 0;
    while (!token.stop_requested()) {
      ++steps;
      co_await yield();
    }
    co_return steps;
  }(stop.get_token()));
  auto stopper = rt.spawn([](std::stop_source s) -> task<> {
    s.request_stop();
    co_return;
  }(stop));
  rt.sync_wait(std::move(stopper));
  EXPECT_GE(rt.sync_wait(std::move(worker)), 0);
}

// --- stop and completion at the same time: one of them wins, and both sides see the same winner

TEST_P(a_stop_token, races_with_a_promise) {
  const int rounds = many(400, 12);
  int values = 0;
  for (int i = 0; i < rounds; ++i) {
    promise<int> p;
    std::stop_source stopping;
    auto waiting = rt.spawn(await_word(p.get_future(), stopping.get_token()));
    std::thread stopper([&stopping, token = rt.hold_external_work()] { stopping.request_stop(); });
    p.set_value(1);
    const std::string what = rt.sync_wait(std::move(waiting));
    stopper.join();
    EXPECT_TRUE(what == "value 1" || what == "cancelled") << what;
    values += what == "value 1";
  }
  RecordProperty("values", values);
}

TEST_P(a_stop_token, races_with_a_channel_and_loses_no_value) {
  const int rounds = many(400, 12);
  for (int i = 0; i < rounds; ++i) {
    channel<int> c;
    std::stop_source stopping;
    auto waiting = rt.spawn(receive_word(c, stopping.get_token()));
    std::thread stopper([&stopping, token = rt.hold_external_work()] { stopping.request_stop(); });
    EXPECT_TRUE(c.try_send(1));
    const std::string what = rt.sync_wait(std::move(waiting));
    stopper.join();
    EXPECT_EQ(c.size(), what == "cancelled" ? 1u : 0u) << what;
  }
}

TEST_P(a_stop_token, races_with_a_receiver_and_duplicates_no_value) {
  const int rounds = many(400, 12);
  for (int i = 0; i < rounds; ++i) {
    channel<int> c(0);
    std::stop_source stopping;
    auto waiting = rt.spawn(send_word(c, 1, stopping.get_token()));
    std::thread stopper([&stopping, token = rt.hold_external_work()] { stopping.request_stop(); });
    const bool received = c.try_receive().has_value();
    const std::string what = rt.sync_wait(std::move(waiting));
    stopper.join();
    EXPECT_EQ(what, received ? "sent" : "cancelled");
  }
}

TEST_P(a_stop_token, races_with_a_timer) {
  const int rounds = many(300, 12);
  for (int i = 0; i < rounds; ++i) {
    std::stop_source stopping;
    auto sleeper = rt.spawn([](std::stop_token token) -> task<int> {
      try {
        co_await sleep_for(20us, token);
        co_return 1;
      } catch (const operation_cancelled&) {
        co_return 2;
      }
    }(stopping.get_token()));
    stopping.request_stop();
    EXPECT_GT(rt.sync_wait(std::move(sleeper)), 0);
  }
}

TEST_P(a_stop_token, stops_many_waiters_at_once) {
  channel<int> c;
  std::vector<promise<int>> promises(50);
  std::vector<future<std::string>> waiting;
  for (auto& p : promises) {
    waiting.push_back(rt.spawn(await_word(p.get_future(), stop.get_token())));
    waiting.push_back(rt.spawn(receive_word(c, stop.get_token())));
  }
  rt.wait_idle();
  stop.request_stop();
  for (const auto& what : rt.sync_wait(when_all(std::move(waiting)))) EXPECT_EQ(what, "cancelled");
}

}  // namespace
