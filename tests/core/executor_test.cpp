// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <functional>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "support.hpp"

namespace {

using namespace starling;
using namespace starling_test;

class an_executor : public with_workers {};
INSTANTIATE_TEST_SUITE_P(core, an_executor, worker_counts, worker_count_name);

task<int> where_am_i() { co_return runtime::worker_index(); }

TEST_P(an_executor, calls_a_function_with_its_arguments) {
  auto f = async(
      rt.get_executor(), [](int a, const std::string& b) { return b + "!" + char(a); }, 'x',
      std::string("hello"));
  EXPECT_EQ(rt.sync_wait(std::move(f)), "hello!x");
}

TEST_P(an_executor, awaits_a_task_that_the_function_returns) {
  auto f = async(
      rt.get_executor(),
      [](int x) -> task<int> {
        co_await yield();
        co_return x * 2;
      },
      21);
  EXPECT_EQ(rt.sync_wait(std::move(f)), 42);
}

TEST_P(an_executor, copies_arguments_and_takes_references_by_request) {
  int counter = 0;
  auto add = [](int& n, int by) { n += by; };
  rt.sync_wait(async(rt.get_executor(), add, std::ref(counter), 3));
  EXPECT_EQ(counter, 3);
  auto own = [](std::unique_ptr<int> p) { return *p; };
  EXPECT_EQ(rt.sync_wait(async(rt.get_executor(), own, std::make_unique<int>(1))), 1);
}

TEST_P(an_executor, passes_on_the_exception_of_the_function) {
  auto f = async(rt.get_executor(), []() -> int { throw std::underflow_error("f"); });
  EXPECT_THROW(rt.sync_wait(std::move(f)), std::underflow_error);
}

TEST_P(an_executor, of_one_worker_runs_all_tasks_on_that_worker) {
  const unsigned last = rt.worker_count() - 1;
  auto hop = [](unsigned me) -> task<bool> {
    bool stayed = runtime::worker_index() == int(me);
    for (int i = 0; i < many(50, 10); ++i) {
      co_await yield();
      stayed = stayed && runtime::worker_index() == int(me);
      stayed = stayed && co_await where_am_i() == int(me);   // a child
      stayed = stayed && co_await spawn(where_am_i()) >= 0;  // a free task; then back here
      stayed = stayed && runtime::worker_index() == int(me);
    }
    co_return stayed;
  };
  std::vector<future<bool>> all;
  for (int i = 0; i < 20; ++i) all.push_back(rt.on_worker(last).spawn(hop(last)));
  for (const bool stayed : rt.sync_wait(when_all(std::move(all)))) EXPECT_TRUE(stayed);
}

TEST_P(an_executor, of_one_worker_gets_its_tasks_back_from_promises_and_channels) {
  const unsigned last = rt.worker_count() - 1;
  channel<int> c(1);
  std::vector<promise<int>> promises(30);
  std::vector<future<int>> futures;
  for (auto& p : promises) futures.push_back(p.get_future());
  auto pinned = rt.on_worker(last).spawn(
      [](std::vector<future<int>> fs, channel<int>& ch, unsigned me) -> task<bool> {
        bool stayed = true;
        for (auto& f : fs) {
          co_await f;
          stayed = stayed && runtime::worker_index() == int(me);
          co_await ch.receive();
          stayed = stayed && runtime::worker_index() == int(me);
        }
        co_return stayed;
      }(std::move(futures), c, last));
  rt.sync_wait([](std::vector<promise<int>>& ps, channel<int>& ch) -> task<> {
    for (auto& p : ps) {
      p.set_value(1);
      co_await ch.send(1);
      co_await yield();
    }
  }(promises, c));
  EXPECT_TRUE(rt.sync_wait(std::move(pinned)));
}

TEST_P(an_executor, moves_a_coroutine) {
  const unsigned last = rt.worker_count() - 1;
  const bool moved = rt.sync_wait([](runtime& r, unsigned to) -> task<bool> {
    co_await r.on_worker(to).schedule();
    const bool there = runtime::worker_index() == int(to);
    co_await r.on_worker(0).schedule();
    const bool back = runtime::worker_index() == 0;
    co_await r.get_executor().schedule();
    co_return there&& back;
  }(rt, last));
  EXPECT_TRUE(moved);
}

TEST_P(an_executor, that_moves_a_child_does_not_move_its_parent) {
  const unsigned last = rt.worker_count() - 1;
  auto traveller = [](runtime& r, unsigned to) -> task<int> {
    co_await r.on_worker(to).schedule();
    co_return runtime::worker_index();
  };
  const bool right =
      rt.sync_wait(rt.on_worker(0).spawn([](runtime& r, auto& f, unsigned to) -> task<bool> {
        const int child_was_on = co_await f(r, to);
        co_return child_was_on == int(to) && runtime::worker_index() == 0;
      }(rt, traveller, last)));
  EXPECT_TRUE(right);
}

TEST_P(an_executor, refuses_a_worker_that_does_not_exist) {
  const std::string said =
      message_of<usage_error>([this] { static_cast<void>(rt.on_worker(rt.worker_count())); });
  EXPECT_NE(said.find(std::to_string(rt.worker_count())), std::string::npos) << said;
  EXPECT_THROW(static_cast<void>(rt.statistics(rt.worker_count())), usage_error);
}

TEST_P(an_executor, is_a_value) {
  EXPECT_EQ(rt.get_executor(), rt.get_executor());
  EXPECT_EQ(rt.on_worker(0), rt.on_worker(0));
  EXPECT_FALSE(rt.on_worker(0) == rt.get_executor());
  EXPECT_FALSE(rt.get_executor(priority::high) == rt.get_executor());
}

TEST_P(an_executor, keeps_the_order_of_posts_to_one_worker) {
  std::vector<int> order;
  auto note = [](std::vector<int>& o, int i) -> task<> {
    o.push_back(i);
    co_return;
  };
  for (int i = 0; i < 100; ++i) rt.on_worker(0).post(note(order, i));
  rt.wait_idle();
  ASSERT_EQ(order.size(), 100u);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(order[std::size_t(i)], i);
}

TEST_P(an_executor, runs_post_of_a_moved_from_task_never) {
  auto t = where_am_i();
  rt.sync_wait(std::move(t));
  EXPECT_THROW(rt.post(std::move(t)), usage_error);  // NOLINT(bugprone-use-after-move): the point
}

TEST(spawn_outside_a_runtime, names_itself_and_the_remedy) {
  auto t = where_am_i();
  const std::string said =
      message_of<usage_error>([&t] { static_cast<void>(spawn(std::move(t))); });
  EXPECT_NE(said.find("spawn"), std::string::npos) << said;
  EXPECT_NE(said.find("starling::runtime"), std::string::npos) << said;
  EXPECT_EQ(runtime::current(), nullptr);
  EXPECT_EQ(runtime::worker_index(), -1);
}

// --- priorities

task<> note(std::vector<std::string>& order, std::string what) {
  order.push_back(std::move(what));
  co_return;
}

TEST(priority_high, runs_before_normal_on_one_worker) {
  if (in_chaos()) GTEST_SKIP() << "chaos mode shuffles priorities on purpose";
  runtime rt(options_with(1));
  std::vector<std::string> order;
  rt.sync_wait([](std::vector<std::string>& o) -> task<> {
    for (int i = 0; i < 3; ++i) post(note(o, "normal"));
    for (int i = 0; i < 3; ++i) post(note(o, "high"), {.priority = priority::high});
    co_return;
  }(order));
  rt.wait_idle();
  EXPECT_EQ(order,
            (std::vector<std::string>{"high", "high", "high", "normal", "normal", "normal"}));
}

TEST(priority_high, runs_before_normal_among_pinned_tasks) {
  if (in_chaos()) GTEST_SKIP() << "chaos mode shuffles priorities on purpose";
  runtime rt(options_with(1));
  std::vector<std::string> order;
  rt.sync_wait([](runtime& r, std::vector<std::string>& o) -> task<> {
    for (int i = 0; i < 3; ++i) r.on_worker(0).post(note(o, "normal"));
    for (int i = 0; i < 3; ++i) r.on_worker(0, priority::high).post(note(o, "high"));
    co_return;
  }(rt, order));
  rt.wait_idle();
  EXPECT_EQ(order,
            (std::vector<std::string>{"high", "high", "high", "normal", "normal", "normal"}));
}

TEST_P(an_executor, of_high_priority_runs_all_tasks) {
  std::atomic<int> count{0};
  auto bump = [](std::atomic<int>& n) -> task<> {
    co_await yield();
    ++n;
  };
  for (int i = 0; i < 100; ++i) rt.get_executor(priority::high).post(bump(count));
  rt.wait_idle();
  EXPECT_EQ(count, 100);
}

// --- fairness

TEST_P(an_executor, lets_yielding_tasks_take_turns) {
  // Each spins until the other task has advanced: only fair turns end this.
  auto step = [](std::atomic<int>& mine, std::atomic<int>& other) -> task<> {
    for (int i = 1; i <= 200; ++i) {
      mine = i;
      while (other < i) co_await yield();
    }
  };
  std::atomic<int> a{0};
  std::atomic<int> b{0};
  auto first = rt.spawn(step(a, b));
  auto second = rt.spawn(step(b, a));
  rt.sync_wait(when_all(std::move(first), std::move(second)));
  EXPECT_EQ(a + b, 400);
}

TEST_P(an_executor, lets_pinned_yielding_tasks_take_turns) {
  auto step = [](int& mine, int& other) -> task<> {
    for (int i = 1; i <= 200; ++i) {
      mine = i;
      while (other < i) co_await yield();
    }
  };
  int a = 0;
  int b = 0;
  auto first = rt.on_worker(0).spawn(step(a, b));
  auto second = rt.on_worker(0).spawn(step(b, a));
  rt.sync_wait(when_all(std::move(first), std::move(second)));
  EXPECT_EQ(a + b, 400);
}

TEST(one_worker, does_not_starve_old_tasks_while_two_wake_each_other) {
  runtime rt(options_with(1));
  channel<int> there;
  channel<int> back;
  std::atomic<bool> stop{false};
  auto player = [](channel<int>& in, channel<int>& out, std::atomic<bool>& s) -> task<> {
    while (!s) {
      co_await out.send(1);
      co_await in.receive();
    }
    co_await out.send(1);
  };
  auto ender = [](std::atomic<bool>& s) -> task<> {
    s = true;
    co_return;
  };
  // The oldest task of the worker ends the test; the players only push newer tasks.
  rt.sync_wait(
      [](auto& play, auto& end, channel<int>& x, channel<int>& y, std::atomic<bool>& s) -> task<> {
        auto last = spawn(end(s));
        auto one = spawn(play(x, y, s));
        auto two = spawn(play(y, x, s));
        co_await when_all(std::move(one), std::move(two), std::move(last));
      }(player, ender, there, back, stop));
  EXPECT_TRUE(stop);
}

/// Returns whether, on one worker, a task made ready by `start(the task)` runs while a pinned task
/// yields.
template <class Start>
bool has_its_turn(priority busy, Start start) {
  runtime rt(options_with(1));
  auto end = [](bool& d) -> task<> {
    d = true;
    co_return;
  };
  auto yields = [](auto& e, Start s, runtime& r) -> task<bool> {
    bool done = false;
    for (int i = 0; i < 1000; ++i)
      co_await yield();  // until no work of sync_wait remains that could let it run
    s(r, e(done));
    for (long n = 0; !done && n < 10'000'000; ++n) co_await yield();
    const bool in_time = done;
    while (!done) co_await r.get_executor().schedule();
    co_return in_time;
  };
  return rt.sync_wait(rt.on_worker(0, busy).spawn(yields(end, start, rt)));
}

TEST(one_worker, does_not_starve_its_newest_task_while_a_pinned_one_yields) {
  EXPECT_TRUE(has_its_turn(priority::normal, [](runtime&, task<> t) { post(std::move(t)); }));
}

TEST(one_worker, does_not_starve_urgent_tasks_while_a_pinned_urgent_one_yields) {
  EXPECT_TRUE(has_its_turn(priority::high, [](runtime& r, task<> t) {
    r.get_executor(priority::high).post(std::move(t));
  }));
}

TEST(one_worker, does_not_starve_pinned_tasks_while_an_urgent_one_yields) {
  EXPECT_TRUE(has_its_turn(priority::high,
                           [](runtime& r, task<> t) { r.on_worker(0).post(std::move(t)); }));
}

TEST(one_worker, runs_its_work_before_a_pinned_task_that_yields) {
  runtime_options options = options_with(1);
  options.chaos.reset();
  runtime rt(options);
  EXPECT_TRUE(rt.sync_wait(rt.on_worker(0).spawn([]() -> task<bool> {
    bool done = false;
    const auto end = [](bool& d) -> task<> {
      d = true;
      co_return;
    };
    post(end(done));
    co_await yield();
    const bool in_time = done;
    while (!done) co_await yield();
    co_return in_time;
  }())));
}

TEST(several_workers, share_the_work_of_one) {
  runtime rt(options_with(4));
  // All four workers must take one, or the remaining tasks would wait without end.
  std::atomic<int> arrived{0};
  auto meet = [](std::atomic<int>& n) -> task<int> {
    ++n;
    while (n < 4) std::this_thread::yield();
    co_return runtime::worker_index();
  };
  const auto indices = rt.sync_wait([](auto& f, std::atomic<int>& n) -> task<std::vector<int>> {
    std::vector<future<int>> all;
    for (int i = 0; i < 4; ++i) all.push_back(spawn(f(n)));
    co_return co_await when_all(std::move(all));
  }(meet, arrived));
  EXPECT_EQ(std::set<int>(indices.begin(), indices.end()).size(), 4u);
}

}  // namespace
