// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <stdexcept>
#include <string>

#include "support.hpp"

namespace {

using namespace starling;
using namespace starling_test;

class then_ : public with_workers {};
INSTANTIATE_TEST_SUITE_P(core, then_, worker_counts, worker_count_name);

task<int> plus_one(int x) {
  co_await yield();
  co_return x + 1;
}

TEST_P(then_, gets_the_value_of_a_ready_future) {
  EXPECT_EQ(rt.sync_wait([]() -> task<int> {
    co_return co_await make_ready_future(2).then([](int x) { return 10 * x; });
  }()),
            20);
}

TEST_P(then_, gets_the_value_of_a_future_that_is_not_ready) {
  EXPECT_EQ(rt.sync_wait([]() -> task<int> {
    promise<int> p;
    auto f = p.get_future().then([](int x) { return 10 * x; });
    EXPECT_FALSE(f.is_ready());
    p.set_value(3);
    co_return co_await f;
  }()),
            30);
}

TEST_P(then_, never_runs_inside_the_call) {
  rt.sync_wait([]() -> task<> {
    bool ran = false;
    auto f = make_ready_future().then([&ran] { ran = true; });
    // Only this coroutine's own suspension lets a single worker run it.
    if (runtime::current()->worker_count() == 1) {
      EXPECT_FALSE(ran);
    }
    co_await f;
    EXPECT_TRUE(ran);
  }());
}

TEST_P(then_, can_take_the_future_itself) {
  const std::string said = rt.sync_wait([]() -> task<std::string> {
    promise<int> p;
    auto f = p.get_future().then([](future<int> ready) -> task<std::string> {
      EXPECT_TRUE(ready.is_ready());
      try {
        co_await ready;
      } catch (const std::logic_error& e) {
        co_return e.what();
      }
      co_return "no error";
    });
    p.set_exception(std::make_exception_ptr(std::logic_error("seen")));
    co_return co_await f;
  }());
  EXPECT_EQ(said, "seen");
}

TEST_P(then_, maps_void_to_a_value) {
  EXPECT_EQ(rt.sync_wait([]() -> task<int> {
    co_return co_await make_ready_future().then([] { return 1; });
  }()),
            1);
}

TEST_P(then_, maps_a_value_to_void) {
  int seen = 0;
  rt.sync_wait(
      [](int& s) -> task<> { co_await make_ready_future(8).then([&s](int x) { s = x; }); }(seen));
  EXPECT_EQ(seen, 8);
}

TEST_P(then_, awaits_a_task_that_the_function_returns) {
  EXPECT_EQ(rt.sync_wait([]() -> task<int> {
    co_return co_await make_ready_future(1).then([](int x) { return plus_one(x); });
  }()),
            2);
  EXPECT_EQ(rt.sync_wait([]() -> task<int> {
    co_return co_await make_ready_future().then([] { return plus_one(4); });
  }()),
            5);
}

TEST_P(then_, is_skipped_by_an_error_which_travels_on) {
  bool called = false;
  EXPECT_THROW(rt.sync_wait([](bool& c) -> task<> {
    promise<int> p;
    auto f = p.get_future().then([&c](int) { c = true; }).then([&c] { c = true; });
    p.set_exception(std::make_exception_ptr(std::range_error("x")));
    co_await f;
  }(called)),
               std::range_error);
  EXPECT_FALSE(called);
}

TEST_P(then_, passes_on_the_exception_of_the_function) {
  EXPECT_THROW(rt.sync_wait([]() -> task<> {
    co_await make_ready_future(1).then([](int) { throw std::overflow_error("y"); });
  }()),
               std::overflow_error);
}

TEST_P(then_, moves_a_move_only_value) {
  EXPECT_EQ(rt.sync_wait([]() -> task<int> {
    auto held = std::make_unique<int>(2);
    // Named: GCC 12 destroys a closure that owns something twice inside a co_await expression.
    auto sum = make_ready_future(std::make_unique<int>(1))
                   .then([h = std::move(held)](std::unique_ptr<int> p) { return *p + *h; });
    co_return co_await sum;
  }()),
            3);
}

TEST_P(then_, outside_a_runtime_names_the_remedy) {
  const std::string said =
      message_of<usage_error>([] { static_cast<void>(make_ready_future(1).then([](int) {})); });
  EXPECT_NE(said.find("future::then"), std::string::npos) << said;
  EXPECT_THROW(rt.sync_wait([]() -> task<> {
    future<int> none;
    co_await std::move(none).then([](int) {});
  }()),
               usage_error);
}

TEST_P(then_, may_be_dropped) {
  bool ran = false;
  rt.sync_wait([](bool& r) -> task<> {
    promise<int> p;
    {
      const auto dropped = p.get_future().then([&r](int) { r = true; });
    }
    p.set_value(1);
    co_return;
  }(ran));
  rt.wait_idle();
  EXPECT_TRUE(ran);
}

TEST(then_with_a_generic_function, gives_it_the_value) {
  runtime rt(options_with(1));
  auto body = []() -> task<int> {
    auto doubled = [](auto x) { return x * 2; };
    co_return co_await make_ready_future(2).then(doubled);
  };
  EXPECT_EQ(rt.sync_wait(body()), 4);
}

}  // namespace
