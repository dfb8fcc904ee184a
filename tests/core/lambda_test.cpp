// SPDX-License-Identifier: Apache-2.0
// Coroutines that are lambdas with captures, which are stored outside their frames.
#include <string>
#include <utility>

#include "support.hpp"

namespace {

using namespace starling;
using namespace starling_test;

class a_lambda_with_captures : public with_workers {};
INSTANTIATE_TEST_SUITE_P(core, a_lambda_with_captures, worker_counts, worker_count_name);

const std::string long_text = "long enough not to lie in the string itself";

TEST_P(a_lambda_with_captures, is_kept_by_async) {
  EXPECT_EQ(rt.sync_wait([]() -> task<std::string> {
    future<std::string> result;
    {
      auto body = [s = long_text]() -> task<std::string> {
        co_await yield();
        co_return s;
      };
      result = async(std::move(body));
    }
    co_await yield();
    co_return co_await std::move(result);
  }()),
            long_text);
}

TEST_P(a_lambda_with_captures, is_kept_by_then) {
  EXPECT_EQ(rt.sync_wait([]() -> task<std::string> {
    auto result = async([] { return 1; }).then([s = long_text](int) -> task<std::string> {
      co_await yield();
      co_return s;
    });
    co_await yield();
    co_return co_await std::move(result);
  }()),
            long_text);
}

TEST_P(a_lambda_with_captures, may_be_awaited_in_its_own_scope) {
  EXPECT_EQ(rt.sync_wait([](std::string s) -> task<std::string> {
    const auto body = [&]() -> task<std::string> {
      co_await yield();
      co_return s;
    };
    co_return co_await body();
  }(long_text)),
            long_text);
}

#if !defined(NDEBUG) && !defined(__clang__)
TEST_P(a_lambda_with_captures, is_refused_by_spawn_and_post_in_debug_builds) {
  EXPECT_THROW(
      static_cast<void>(rt.spawn([s = long_text]() -> task<std::string> { co_return s; }())),
      usage_error);
  int x = 0;
  EXPECT_THROW(rt.post([&]() -> task<> {
    ++x;
    co_return;
  }()),
               usage_error);
  EXPECT_NE(message_of<usage_error>([&] {
              static_cast<void>(rt.spawn([x]() mutable -> task<int> { co_return ++x; }()));
            }).find("Pass the lambda itself to async"),
            std::string::npos);
  EXPECT_EQ(x, 0);
}
#endif

template <class F>
task<int> called_with(F f) {
  co_return f();
}
struct named {
  int value;
  task<int> run() const { co_return value; }
};

TEST_P(a_lambda_with_captures, is_distinguished_from_parameters_objects_and_other_lambdas) {
  int one = 1;
  EXPECT_EQ(rt.sync_wait(rt.spawn(called_with([one] { return one; }))), 1);
  EXPECT_EQ(rt.sync_wait(rt.spawn([](int x) -> task<int> { co_return x; }(2))), 2);
  const named object{3};
  EXPECT_EQ(rt.sync_wait(rt.spawn(object.run())), 3);
}

}  // namespace
