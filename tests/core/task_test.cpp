// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>

#include "support.hpp"

namespace {

using namespace starling;
using namespace starling_test;

class a_task : public with_workers {};
INSTANTIATE_TEST_SUITE_P(core, a_task, worker_counts, worker_count_name);

task<int> answer() { co_return 42; }
task<int> twice(int x) { co_return 2 * x; }
task<> fail(const char* what) {
  throw std::runtime_error(what);
  co_return;
}

TEST_P(a_task, yields_its_value) { EXPECT_EQ(rt.sync_wait(answer()), 42); }

TEST_P(a_task, runs_nothing_before_it_is_awaited) {
  bool ran = false;
  auto set = [](bool& flag) -> task<> {
    flag = true;
    co_return;
  };
  const bool before_await = rt.sync_wait([](auto& make, bool& flag) -> task<bool> {
    auto t = make(flag);
    const bool early = flag;
    co_await t;
    co_return early;
  }(set, ran));
  EXPECT_FALSE(before_await);
  EXPECT_TRUE(ran);
}

TEST_P(a_task, yields_a_reference_to_the_very_object) {
  int object = 1;
  auto name_it = [](int& x) -> task<int&> { co_return x; };
  const bool same = rt.sync_wait([](auto& f, int& x) -> task<bool> {
    int& y = co_await f(x);
    y = 7;
    co_return &y == &x;
  }(name_it, object));
  EXPECT_TRUE(same);
  EXPECT_EQ(object, 7);
}

TEST_P(a_task, yields_a_move_only_value) {
  auto make = []() -> task<std::unique_ptr<int>> { co_return std::make_unique<int>(5); };
  EXPECT_EQ(*rt.sync_wait(make()), 5);
}

TEST_P(a_task, takes_arguments_that_can_only_be_moved) {
  auto read = [](std::unique_ptr<int> p) -> task<int> { co_return *p; };
  EXPECT_EQ(rt.sync_wait(read(std::make_unique<int>(9))), 9);
}

TEST_P(a_task, throws_where_it_is_awaited) {
  const std::string caught = rt.sync_wait([]() -> task<std::string> {
    try {
      co_await fail("inner");
    } catch (const std::runtime_error& e) {
      co_return e.what();
    }
    co_return "nothing";
  }());
  EXPECT_EQ(caught, "inner");
}

TEST_P(a_task, carries_an_exception_through_every_level) {
  struct thrower {
    static task<int> down(int depth) {
      if (depth == 0) throw std::out_of_range("bottom");
      co_return co_await down(depth - 1) + 1;
    }
  };
  EXPECT_THROW(rt.sync_wait(thrower::down(many(10000, 500))), std::out_of_range);
}

TEST_P(a_task, that_never_starts_frees_its_arguments) {
  int alive = 0;
  {
    auto hold = [](counted) -> task<> { co_return; };
    const task<> t = hold(counted(alive));
    EXPECT_EQ(alive, 1);
  }
  EXPECT_EQ(alive, 0);
}

TEST_P(a_task, frees_its_locals_before_its_parent_resumes) {
  int alive = 0;
  auto child = [](int& count) -> task<int> {
    counted local(count);
    co_return count;
  };
  const auto [inside, after] = rt.sync_wait([](auto& f, int& n) -> task<std::pair<int, int>> {
    const int inner = co_await f(n);
    co_return std::pair(inner, n);
  }(child, alive));
  EXPECT_EQ(inside, 1);
  EXPECT_EQ(after, 0);
}

TEST_P(a_task, that_was_moved_from_cannot_be_awaited) {
  auto t = answer();
  const auto taken = std::move(t);
  EXPECT_THROW(rt.sync_wait([](task<int>& empty) -> task<int> { co_return co_await empty; }(t)),
               usage_error);
  EXPECT_THROW(static_cast<void>(rt.spawn(std::move(t))), usage_error);
}

TEST_P(a_task, cannot_be_awaited_twice) {
  const std::string said = message_of<usage_error>([this] {
    rt.sync_wait([]() -> task<> {
      auto t = answer();
      co_await t;
      co_await t;
    }());
  });
  EXPECT_NE(said.find("once"), std::string::npos) << said;
}

TEST_P(a_task, may_nest_a_million_deep) {
  struct nest {
    static task<int> down(int depth) {
      if (depth == 0) co_return 0;
      co_return co_await down(depth - 1) + 1;
    }
  };
  const int depth = many(1000000, 3000);
  EXPECT_EQ(rt.sync_wait(nest::down(depth)), depth);
}

/// Returns the stack position; its spread over many calls shows whether the stack grows.
[[gnu::noinline]] std::uintptr_t stack_position() {
  return reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
}

struct spread {
  std::uintptr_t low = UINTPTR_MAX;
  std::uintptr_t high = 0;
  void add(std::uintptr_t at) {
    low = std::min(low, at);
    high = std::max(high, at);
  }
  [[nodiscard]] std::uintptr_t size() const { return high - low; }
};

constexpr std::uintptr_t small_stack = 256 * 1024;

TEST(a_task_on_one_worker, does_not_grow_the_stack_with_a_million_awaits_of_children) {
  runtime rt(options_with(1));
  spread stack;
  auto child = [](spread& s) -> task<int> {
    s.add(stack_position());
    co_return 1;
  };
  const int count = many(1000000, 3000);
  const int sum = rt.sync_wait([](auto& f, spread& s, int n) -> task<int> {
    int total = 0;
    for (int i = 0; i < n; ++i) total += co_await f(s);
    co_return total;
  }(child, stack, count));
  EXPECT_EQ(sum, count);
  EXPECT_LT(stack.size(), small_stack);
}

TEST(a_task_on_one_worker, does_not_grow_the_stack_with_a_million_awaits_of_ready_futures) {
  runtime rt(options_with(1));
  spread stack;
  const int count = many(1000000, 3000);
  const long sum = rt.sync_wait([](spread& s, int n) -> task<long> {
    long total = 0;
    for (int i = 0; i < n; ++i) {
      s.add(stack_position());
      total += co_await make_ready_future(i);
    }
    co_return total;
  }(stack, count));
  EXPECT_EQ(sum, long(count) * (count - 1) / 2);
  EXPECT_LT(stack.size(), small_stack);
}

TEST(a_task_on_one_worker, does_not_grow_the_stack_when_a_million_futures_resume_each_other) {
  runtime rt(options_with(1));
  spread stack;
  const int count = many(1000000, 3000);
  const int sum = rt.sync_wait([](spread& s, int n) -> task<int> {
    promise<int> first;
    future<int> last = first.get_future();
    for (int i = 0; i < n; ++i)
      last = std::move(last).then([&s](int x) {
        s.add(stack_position());
        return x + 1;
      });
    first.set_value(0);
    co_return co_await last;
  }(stack, count));
  EXPECT_EQ(sum, count);
  EXPECT_LT(stack.size(), small_stack);
}

TEST(a_task_on_one_worker, lets_other_tasks_run_between_children_that_never_suspend) {
  runtime rt(options_with(1));
  // A pinned task of the same worker sets the flag: unless the worker checks its other queues now
  // and then, the loop of children is endless.
  bool flag = false;
  rt.sync_wait([](runtime& r, bool& f) -> task<> {
    auto setter = [](bool& x) -> task<> {
      x = true;
      co_return;
    };
    r.on_worker(0).post(setter(f));
    while (!f) co_await twice(1);
  }(rt, flag));
  EXPECT_TRUE(flag);
}

TEST(a_task_whose_local_throws_after_its_result, fails_and_frees_its_result) {
  struct throws {
    ~throws() noexcept(false) { throw std::runtime_error("late"); }
  };
  auto body = []() -> task<std::string> {
    const throws at_the_end;
    co_return std::string(100, 'x');  // the address sanitizer would report a leak
  };
  runtime rt(options_with(1));
  EXPECT_THROW(rt.sync_wait(body()), std::runtime_error);
}

}  // namespace
