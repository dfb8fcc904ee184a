// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "support.hpp"

namespace {

using namespace starling;
using namespace starling_test;
using namespace std::chrono_literals;

class a_hang : public with_workers {
 protected:
  std::string report_of(task<> t) {
    return message_of<hang_error>([&] { rt.sync_wait(std::move(t)); });
  }
};
INSTANTIATE_TEST_SUITE_P(core, a_hang, worker_counts, worker_count_name);

/// Returns whether a line of `report` has `what` and the position of `line` in this file.
testing::AssertionResult lists(const std::string& report, const std::string& what, int line) {
  const std::string place = "hang_test.cpp:" + std::to_string(line);
  for (std::size_t at = 0; at < report.size();) {
    const std::size_t end = std::min(report.find('\n', at), report.size());
    const std::string text = report.substr(at, end - at);
    if (text.find(what) != text.npos && text.find(place) != text.npos)
      return testing::AssertionSuccess();
    at = end + 1;
  }
  return testing::AssertionFailure() << "no '" << what << "' at " << place << " in\n" << report;
}

task<> forward(task<> t) { co_await t; }

TEST_P(a_hang, on_a_promise_is_listed_with_its_source_location) {
  promise<int> never;
  const int line = __LINE__ + 1;
  auto stuck = [](future<int> f) -> task<> { co_await f; };
  const std::string report = report_of(stuck(never.get_future()));
  EXPECT_TRUE(lists(report, "awaits a future", line));
  EXPECT_NE(report.find("external_work"), report.npos) << report;
  EXPECT_NE(report.find(" since "), report.npos) << report;
}

TEST_P(a_hang, on_a_channel_is_listed_on_both_sides) {
  channel<int> c(0);
  channel<int> d;
  const int line = __LINE__ + 1;
  auto send = [](channel<int>& ch) -> task<> { co_await ch.send(1); };
  auto receive = [](channel<int>& ch) -> task<> { co_await ch.receive(); };
  auto sender = rt.spawn(send(c));
  const std::string report = report_of(receive(d));
  const auto named = [](const channel<int>& which) {
    char text[64];
    std::snprintf(text, sizeof text, "awaits a channel %p", static_cast<const void*>(&which));
    return std::string(text);
  };
  EXPECT_TRUE(lists(report, named(c), line));
  EXPECT_TRUE(lists(report, named(d), line + 1));
  EXPECT_THROW(rt.sync_wait(std::move(sender)), hang_error);
}

TEST_P(a_hang, on_a_join_a_race_and_a_shared_future_is_listed) {
  promise<int> never;
  promise<int> never_either;
  const auto shared = never.get_future().share();
  const int line = __LINE__ + 1;
  auto reader = [](shared_future<int> f) -> task<int> { co_return co_await f; };
  std::vector<future<int>> inputs;
  inputs.push_back(rt.spawn(reader(shared)));
  inputs.push_back(rt.spawn(reader(shared)));
  auto race = rt.spawn(when_any(never_either.get_future(), std::move(inputs[1])));
  inputs.pop_back();
  auto join = [](std::vector<future<int>> fs) -> task<> { co_await when_all(std::move(fs)); };
  const std::string report = report_of(join(std::move(inputs)));
  EXPECT_TRUE(lists(report, "awaits a future", line));
  EXPECT_NE(report.find("awaits a join"), report.npos) << report;
  EXPECT_TRUE(lists(report, "awaits a child task", line + 6));
  rt.wait_idle();
  EXPECT_TRUE(race.is_ready());
}

TEST_P(a_hang, with_a_stop_token_that_is_never_stopped_is_listed_too) {
  std::stop_source stop;
  channel<int> c;
  const int line = __LINE__ + 2;
  auto stuck = [](channel<int>& ch, std::stop_token token) -> task<> {
    co_await ch.receive(token);
  };
  EXPECT_TRUE(lists(report_of(stuck(c, stop.get_token())), "awaits a channel", line));
  stop.request_stop();
  EXPECT_EQ(rt.sync_wait([]() -> task<int> { co_return 1; }()), 1);
}

TEST_P(a_hang, names_every_level_of_tasks) {
  channel<int> c;
  auto leaf = [](channel<int>& ch) -> task<> { co_await ch.receive(); };
  const std::string report = report_of(forward(forward(leaf(c))));
  EXPECT_NE(report.find("forward"), report.npos) << report;
  EXPECT_NE(report.find("a thread in sync_wait"), report.npos) << report;
}

TEST_P(a_hang, of_pinned_work_names_its_worker) {
  channel<int> c;
  auto leaf = [](channel<int>& ch) -> task<> { co_await ch.receive(); };
  auto stuck = rt.on_worker(0).spawn(leaf(c));
  const std::string report = message_of<hang_error>([&] { rt.sync_wait(std::move(stuck)); });
  EXPECT_NE(report.find("on worker 0"), report.npos) << report;
}

TEST_P(a_hang, of_tasks_that_wait_for_each_other_is_unwound) {
  // Two tasks, each of which awaits the other's future; no further wait can be interrupted.
  testing::internal::CaptureStderr();
  int unwound = 0;
  {
    channel<future<int>> to_first;
    channel<future<int>> to_second;
    runtime other(options_with(GetParam()));
    auto wait_for = [](channel<future<int>>& c, int& n) -> task<int> {
      auto partner = (co_await c.receive()).value();
      try {
        co_return co_await partner;
      } catch (const hang_error&) {
        ++n;
        throw;
      }
    };
    auto first = other.on_worker(0).spawn(wait_for(to_first, unwound));
    auto second = other.on_worker(0).spawn(wait_for(to_second, unwound));
    EXPECT_TRUE(to_first.try_send(std::move(second)));
    EXPECT_TRUE(to_second.try_send(std::move(first)));
  }
  const std::string printed = testing::internal::GetCapturedStderr();
  EXPECT_EQ(unwound, 2);
  EXPECT_NE(printed.find("awaits a future"), printed.npos) << printed;
}

TEST_P(a_hang, unwinds_through_a_task_that_waits_again_in_its_handler) {
  channel<int> c;
  int handled = 0;
  auto stubborn = [](channel<int>& ch, int& n) -> task<> {
    for (int i = 0; i < 10; ++i) {
      bool hung = false;
      try {
        co_await ch.receive();
      } catch (const hang_error&) {
        hung = true;
      }
      n += hung;
    }
  };
  rt.sync_wait(stubborn(c, handled));
  EXPECT_EQ(handled, 10);
}

TEST_P(a_hang, gives_up_on_a_task_that_never_stops_waiting) {
  channel<int> c;
  auto hopeless = [](channel<int>& ch) -> task<> {
    while (!ch.is_closed()) {
      try {
        co_await ch.receive();
      } catch (const hang_error&) {
      }
    }
  };
  const std::string report = report_of(hopeless(c));
  EXPECT_NE(report.find("awaits a channel"), report.npos) << report;
  c.close();
  rt.wait_idle();
  EXPECT_EQ(rt.describe_awaiters(), "");
}

/// Returns the list without its first line.
std::string entries_of(const std::string& report) { return report.substr(report.find('\n') + 1); }

TEST_P(a_hang, list_begins_with_code_of_the_user) {
  channel<int> c;
  const int line = __LINE__ + 1;
  auto leaf = [](channel<int>& ch) -> task<> { co_await ch.receive(); };
  const std::string entries = entries_of(report_of(forward(leaf(c))));
  const std::string begin = "  hang_test.cpp:";
  EXPECT_EQ(entries.rfind(begin, 0), 0u) << entries;
  EXPECT_NE(entries.find(begin + std::to_string(line) + ": "), entries.npos) << entries;
  EXPECT_NE(entries.find(": forward awaits a child task"), entries.npos) << entries;
  EXPECT_NE(entries.find("<lambda> awaits a channel"), entries.npos) << entries;
  EXPECT_GT(entries.find("a thread in sync_wait"), entries.find("forward")) << entries;
}

TEST_P(a_hang, list_has_no_internal_types_and_no_folders) {
  promise<int> never;
  auto stuck = [](future<int> f) -> task<> { co_await f; };
  std::vector<future<void>> all;
  all.push_back(rt.spawn(stuck(never.get_future())));
  all.push_back(async(rt.get_executor(), [] {}));
  const std::string entries = entries_of(report_of(when_all(std::move(all))));
  for (const char* internal : {"starling::", "detail::", "[with", "/", "task<"})
    EXPECT_EQ(entries.find(internal), entries.npos) << entries;
}

TEST_P(a_hang, runs_destructors_when_it_is_unwound) {
  int alive = 0;
  channel<int> c;
  auto stuck = [](channel<int>& ch, counted) -> task<> { co_await ch.receive(); };
  EXPECT_THROW(rt.sync_wait(stuck(c, counted(alive))), hang_error);
  EXPECT_EQ(alive, 0);
}

TEST_P(a_hang, of_one_wait_does_not_affect_the_next) {
  for (int i = 0; i < 5; ++i) {
    channel<int> c;
    const int line = __LINE__ + 1;
    auto stuck = [](channel<int>& ch) -> task<> { co_await ch.receive(); };
    EXPECT_TRUE(lists(report_of(stuck(c)), "awaits a channel", line));
    EXPECT_EQ(rt.sync_wait([]() -> task<int> { co_return 4; }()), 4);
  }
}

TEST_P(a_hang, is_not_reported_for_sleeping_timers) {
  rt.sync_wait([]() -> task<> { co_await sleep_for(10ms); }());
}

TEST_P(a_hang, is_not_reported_while_threads_fulfil_promises) {
  const int rounds = many(500, 12);
  for (int i = 0; i < rounds; ++i) {
    promise<int> p;
    auto f = p.get_future();
    std::thread outside([&p, token = rt.hold_external_work()] { p.set_value(1); });
    EXPECT_EQ(rt.sync_wait(std::move(f)), 1);
    outside.join();
  }
}

TEST_P(a_hang, of_detached_work_is_reported_when_the_runtime_ends) {
  testing::internal::CaptureStderr();
  int alive = 0;
  channel<int> c;
  const int line = __LINE__ + 3;
  {
    runtime other(options_with(GetParam()));
    auto stuck = [](channel<int>& ch, counted) -> task<> { co_await ch.receive(); };
    other.post(stuck(c, counted(alive)));
  }
  const std::string printed = testing::internal::GetCapturedStderr();
  EXPECT_EQ(alive, 0);
  EXPECT_NE(printed.find("runtime ends while"), printed.npos) << printed;
  EXPECT_TRUE(lists(printed, "awaits a channel", line));
}

TEST_P(a_hang, that_cannot_be_unwound_lets_the_runtime_end) {
  testing::internal::CaptureStderr();
  auto c = std::make_unique<channel<int>>();
  {
    runtime other(options_with(GetParam()));
    auto hopeless = [](channel<int>& ch) -> task<> {
      for (;;) {
        try {
          co_await ch.receive();
        } catch (const hang_error&) {
        }
      }
    };
    other.post(hopeless(*c));
  }
  EXPECT_NE(testing::internal::GetCapturedStderr().find("awaits a channel"), std::string::npos);
  // The abandoned waiters are unreachable from the channel and from another runtime.
  EXPECT_TRUE(c->try_send(1));
  EXPECT_EQ(c->size(), 1u);
  c.reset();
  EXPECT_EQ(rt.describe_awaiters(), "");
  EXPECT_EQ(rt.sync_wait([]() -> task<int> { co_return 4; }()), 4);
}

TEST_P(a_hang, is_not_reported_when_the_diagnosis_is_off) {
  runtime_options options = options_with(GetParam());
  options.hang_diagnosis = false;
  runtime quiet(options);
  channel<int> c;
  std::optional<int> value;
  auto receive = [](channel<int>& ch) -> task<std::optional<int>> {
    co_return co_await ch.receive();
  };
  // No token: with the diagnosis on, this would be a hang as soon as the worker sleeps.
  std::atomic<bool> waiting{false};
  const std::uint64_t slept = quiet.statistics(0).slept;
  std::thread outside([&] {
    while (!waiting || quiet.statistics(0).slept == slept) std::this_thread::yield();
    EXPECT_TRUE(c.try_send(1));
  });
  value = quiet.sync_wait(
      [](runtime& r, auto& f, channel<int>& ch, std::atomic<bool>& w) -> task<std::optional<int>> {
        co_await r.on_worker(0).schedule();
        w = true;
        co_return co_await f(ch);
      }(quiet, receive, c, waiting));
  outside.join();
  EXPECT_EQ(value, 1);
}

TEST_P(a_hang, of_two_runtimes_that_wait_for_each_other_is_reported) {
  runtime other(options_with(1));
  channel<int> c;
  channel<int> d;
  auto relay = [](channel<int>& from, channel<int>& to) -> task<> {
    const auto v = co_await from.receive();
    co_await to.send(v.value_or(0));
  };
  auto far = other.spawn(relay(c, d));
  EXPECT_THROW(rt.sync_wait(relay(d, c)), hang_error);
  d.close();
  c.close();
  EXPECT_THROW(other.sync_wait(std::move(far)), channel_closed);
}

TEST_P(a_hang, list_is_available_at_any_time) {
  channel<int> c;
  auto stuck = [](channel<int>& ch) -> task<> { co_await ch.receive(); };
  EXPECT_EQ(rt.describe_awaiters(), "");
  auto waiting = rt.spawn(stuck(c));
  rt.wait_idle();
  EXPECT_NE(rt.describe_awaiters().find("awaits a channel"), std::string::npos);
  EXPECT_TRUE(c.try_send(1));
  rt.sync_wait(std::move(waiting));
  EXPECT_EQ(rt.describe_awaiters(), "");
}

TEST_P(a_hang, list_is_available_while_tasks_run) {
  std::atomic<bool> listed{false};
  auto churn = [](auto& self, int depth) -> task<int> {
    if (depth == 0) co_return 1;
    auto a = spawn(self(self, depth - 1));
    const int b = co_await self(self, depth - 1);
    co_return b + co_await a;
  };
  std::thread lister([&] {
    for (int i = 0; i < many(200, 20); ++i) static_cast<void>(rt.describe_awaiters());
    listed = true;
  });
  while (!listed) EXPECT_EQ(rt.sync_wait(churn(churn, 6)), 1 << 6);
  lister.join();
}

}  // namespace
