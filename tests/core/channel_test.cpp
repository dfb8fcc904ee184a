// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "support.hpp"

namespace {

using namespace starling;
using namespace starling_test;

class a_channel : public with_workers {};
INSTANTIATE_TEST_SUITE_P(core, a_channel, worker_counts, worker_count_name);

task<> send_range(channel<int>& c, int begin, int end) {
  for (int i = begin; i < end; ++i) co_await c.send(i);
}

task<std::vector<int>> drain(channel<int>& c) {
  std::vector<int> values;
  while (auto v = co_await c.receive()) values.push_back(*v);
  co_return values;
}

task<std::string> outcome_of_send(channel<int>& c) {
  try {
    co_await c.send(1);
  } catch (const channel_closed&) {
    co_return "closed";
  }
  co_return "sent";
}

class a_channel_of_capacity : public testing::TestWithParam<std::size_t> {
 protected:
  runtime rt{options_with(2)};
};
INSTANTIATE_TEST_SUITE_P(core, a_channel_of_capacity,
                         testing::Values(0, 1, 2, 7, 64, channel<int>::unbounded),
                         [](const auto& made) {
                           return made.param == channel<int>::unbounded
                                      ? std::string("unbounded")
                                      : std::to_string(made.param);
                         });

TEST_P(a_channel_of_capacity, keeps_the_order_of_one_sender) {
  channel<int> c(GetParam());
  const int count = many(5000, 500);
  auto received = rt.spawn(drain(c));
  rt.sync_wait(send_range(c, 0, count));
  c.close();
  const auto values = rt.sync_wait(std::move(received));
  ASSERT_EQ(values.size(), std::size_t(count));
  for (int i = 0; i < count; ++i) ASSERT_EQ(values[std::size_t(i)], i);
}

TEST_P(a_channel_of_capacity, loses_and_duplicates_no_value_among_many_tasks) {
  channel<int> c(GetParam());
  const int each = many(1000, 100);
  std::vector<future<void>> senders;
  std::vector<future<std::vector<int>>> receivers;
  for (int i = 0; i < 4; ++i) receivers.push_back(rt.spawn(drain(c)));
  for (int i = 0; i < 4; ++i) senders.push_back(rt.spawn(send_range(c, i * each, (i + 1) * each)));
  rt.sync_wait(when_all(std::move(senders)));
  c.close();
  std::vector<int> seen(std::size_t(4 * each));
  for (const auto& part : rt.sync_wait(when_all(std::move(receivers)))) {
    std::vector<int> last(4, -1);
    for (const int v : part) {
      ++seen[std::size_t(v)];
      EXPECT_GT(v, last[std::size_t(v / each)]);  // each sender's values stay in order
      last[std::size_t(v / each)] = v;
    }
  }
  EXPECT_EQ(seen, std::vector<int>(seen.size(), 1));
}

TEST_P(a_channel, that_is_full_makes_the_sender_wait) {
  channel<int> c(2);
  auto sender = rt.spawn(send_range(c, 0, 3));
  rt.wait_idle();
  EXPECT_FALSE(sender.is_ready());
  EXPECT_EQ(c.size(), 2u);
  EXPECT_EQ(c.try_receive(), 0);
  rt.sync_wait(std::move(sender));
  EXPECT_EQ(c.try_receive(), 1);
  EXPECT_EQ(c.try_receive(), 2);
  EXPECT_EQ(c.try_receive(), std::nullopt);
}

TEST_P(a_channel, of_capacity_zero_completes_a_send_when_the_value_is_taken) {
  channel<int> c(0);
  EXPECT_FALSE(c.try_send(1));
  auto sender = rt.spawn(send_range(c, 5, 6));
  rt.wait_idle();
  EXPECT_FALSE(sender.is_ready());
  EXPECT_EQ(c.size(), 0u);
  EXPECT_EQ(c.try_receive(), 5);
  rt.sync_wait(std::move(sender));
}

TEST_P(a_channel, hands_a_value_to_a_receiver_that_waits) {
  channel<int> c(0);
  auto receiver =
      rt.spawn([](channel<int>& ch) -> task<int> { co_return (co_await ch.receive()).value(); }(c));
  rt.wait_idle();
  EXPECT_TRUE(c.try_send(8));
  EXPECT_EQ(rt.sync_wait(std::move(receiver)), 8);
}

TEST_P(a_channel, serves_receivers_in_order_of_arrival) {
  channel<int> c;
  std::vector<int> order;
  auto receive = [](channel<int>& ch, std::vector<int>& o, int who) -> task<> {
    const auto v = co_await ch.receive();
    EXPECT_EQ(v, who);
    o.push_back(who);
  };
  std::vector<future<void>> waiting;
  for (int i = 0; i < 4; ++i) {
    waiting.push_back(rt.on_worker(0).spawn(receive(c, order, i)));
    rt.wait_idle();
  }
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(c.try_send(i));
  rt.sync_wait(when_all(std::move(waiting)));
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3}));
}

TEST_P(a_channel, that_closes_wakes_receivers_without_a_value) {
  channel<int> c;
  std::vector<future<std::vector<int>>> receivers;
  for (int i = 0; i < 5; ++i) receivers.push_back(rt.spawn(drain(c)));
  rt.wait_idle();
  c.close();
  for (const auto& values : rt.sync_wait(when_all(std::move(receivers))))
    EXPECT_TRUE(values.empty());
}

TEST_P(a_channel, that_closes_wakes_senders_with_an_error) {
  channel<int> c(0);
  std::vector<future<std::string>> senders;
  for (int i = 0; i < 5; ++i) senders.push_back(rt.spawn(outcome_of_send(c)));
  rt.wait_idle();
  c.close();
  for (const auto& what : rt.sync_wait(when_all(std::move(senders)))) EXPECT_EQ(what, "closed");
  EXPECT_EQ(rt.sync_wait(drain(c)), std::vector<int>{});
}

TEST_P(a_channel, that_is_closed_still_yields_its_stored_values) {
  channel<int> c;
  EXPECT_TRUE(c.try_send(1));
  EXPECT_TRUE(c.try_send(2));
  c.close();
  EXPECT_TRUE(c.is_closed());
  EXPECT_EQ(rt.sync_wait(drain(c)), (std::vector<int>{1, 2}));
  EXPECT_THROW(static_cast<void>(c.try_send(3)), channel_closed);
  EXPECT_EQ(rt.sync_wait(outcome_of_send(c)), "closed");
  c.close();  // a second close has no effect
}

TEST_P(a_channel, moves_values_that_can_only_be_moved) {
  channel<std::unique_ptr<int>> c(1);
  auto sender = rt.spawn([](channel<std::unique_ptr<int>>& ch) -> task<> {
    for (int i = 0; i < 20; ++i) co_await ch.send(std::make_unique<int>(i));
    ch.close();
  }(c));
  const int sum = rt.sync_wait([](channel<std::unique_ptr<int>>& ch) -> task<int> {
    int total = 0;
    while (auto p = co_await ch.receive()) total += **p;
    co_return total;
  }(c));
  rt.sync_wait(std::move(sender));
  EXPECT_EQ(sum, 190);
}

TEST_P(a_channel, needs_no_default_and_no_assignment_of_its_values) {
  struct rigid {
    explicit rigid(int x) : value(x) {}
    const int value;
  };
  channel<rigid> c;
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(c.try_send(rigid(i)));
  for (int i = 0; i < 20; ++i) EXPECT_EQ(c.try_receive().value().value, i);
}

TEST_P(a_channel, frees_its_remaining_values) {
  int alive = 0;
  {
    channel<counted> c;
    for (int i = 0; i < 12; ++i) EXPECT_TRUE(c.try_send(counted(alive)));
    { const auto taken = c.try_receive(); }
    EXPECT_EQ(alive, 11);
  }
  EXPECT_EQ(alive, 0);
}

TEST_P(a_channel, is_fed_by_threads_outside_the_runtime) {
  channel<int> c;
  constexpr int each = 500;
  auto received = rt.spawn(drain(c));
  std::vector<std::thread> threads;
  std::atomic<int> live{3};
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&, token = rt.hold_external_work()] {
      for (int i = 0; i < each; ++i) EXPECT_TRUE(c.try_send(1));
      if (--live == 0) c.close();
    });
  EXPECT_EQ(rt.sync_wait(std::move(received)).size(), std::size_t(3 * each));
  for (auto& t : threads) t.join();
}

TEST_P(a_channel, carries_a_ping_pong) {
  channel<int> there(1);
  channel<int> back(1);
  auto echo = rt.spawn([](channel<int>& in, channel<int>& out) -> task<> {
    while (auto v = co_await in.receive()) co_await out.send(*v + 1);
  }(there, back));
  const int rounds = many(20000, 1000);
  const int last = rt.sync_wait([](channel<int>& out, channel<int>& in, int n) -> task<int> {
    int x = 0;
    for (int i = 0; i < n; ++i) {
      co_await out.send(x);
      x = (co_await in.receive()).value();
    }
    out.close();
    co_return x;
  }(there, back, rounds));
  rt.sync_wait(std::move(echo));
  EXPECT_EQ(last, rounds);
}

TEST(a_full_channel, does_not_move_a_refused_value) {
  channel<std::unique_ptr<int>> c(1);
  EXPECT_TRUE(c.try_send(std::make_unique<int>(1)));
  auto second = std::make_unique<int>(2);
  EXPECT_FALSE(c.try_send(std::move(second)));
  ASSERT_NE(second, nullptr);  // NOLINT(bugprone-use-after-move): the point
  EXPECT_EQ(**c.try_receive(), 1);
  EXPECT_TRUE(c.try_send(std::move(second)));
  channel<std::string> words(1);
  const std::string word = "word";
  EXPECT_TRUE(words.try_send(word));
  EXPECT_FALSE(words.try_send(word));
}

}  // namespace
