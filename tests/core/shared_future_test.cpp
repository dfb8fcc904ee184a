// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "support.hpp"

namespace {

using namespace starling;
using namespace starling_test;

class a_shared_future : public with_workers {};
INSTANTIATE_TEST_SUITE_P(core, a_shared_future, worker_counts, worker_count_name);

task<int> read(shared_future<int> f) {
  const int& value = co_await f;
  co_return value;
}

TEST_P(a_shared_future, has_many_consumers) {
  promise<int> p;
  const auto shared = p.get_future().share();
  std::vector<future<int>> readers;
  for (int i = 0; i < 100; ++i) readers.push_back(rt.spawn(read(shared)));
  EXPECT_FALSE(shared.is_ready());
  p.set_value(13);
  EXPECT_EQ(rt.sync_wait(when_all(std::move(readers))), std::vector<int>(100, 13));
  EXPECT_TRUE(shared.is_ready());
  EXPECT_EQ(rt.sync_wait(shared), 13);
}

TEST_P(a_shared_future, of_a_ready_future_is_ready) {
  const auto shared = make_ready_future(1).share();
  EXPECT_TRUE(shared.is_ready());
  EXPECT_EQ(rt.sync_wait(read(shared)), 1);
}

TEST_P(a_shared_future, gives_all_consumers_the_same_object) {
  auto address = [](shared_future<std::string> f) -> task<const std::string*> {
    const std::string& s = co_await f;
    co_return &s;
  };
  const auto shared = make_ready_future(std::string("one")).share();
  EXPECT_EQ(rt.sync_wait(address(shared)), rt.sync_wait(address(shared)));
}

TEST_P(a_shared_future, rethrows_its_error_to_all_consumers) {
  promise<int> p;
  const auto shared = p.get_future().share();
  std::vector<future<int>> readers;
  for (int i = 0; i < 10; ++i) readers.push_back(rt.spawn(read(shared)));
  p.set_exception(std::make_exception_ptr(std::length_error("all")));
  for (auto& r : readers) EXPECT_THROW(rt.sync_wait(std::move(r)), std::length_error);
}

TEST_P(a_shared_future, without_a_value_resumes_its_consumers) {
  promise<> p;
  const auto gate = p.get_future().share();
  auto pass = [](shared_future<void> g) -> task<int> {
    co_await g;
    co_return 1;
  };
  std::vector<future<int>> waiting;
  for (int i = 0; i < 5; ++i) waiting.push_back(rt.spawn(pass(gate)));
  p.set_value();
  EXPECT_EQ(rt.sync_wait(when_all(std::move(waiting))).size(), 5u);
}

TEST_P(a_shared_future, frees_the_result_with_its_last_copy) {
  int alive = 0;
  {
    promise<counted> p;
    auto first = p.get_future().share();
    p.set_value(alive);
    auto second = first;
    first = {};
    EXPECT_EQ(alive, 1);
    second = shared_future<counted>();
    EXPECT_EQ(alive, 0);
  }
  EXPECT_EQ(alive, 0);
}

TEST_P(a_shared_future, may_lose_all_copies_before_the_result) {
  int alive = 0;
  {
    promise<counted> p;
    { const auto shared = p.get_future().share(); }
    p.set_value(alive);
  }
  EXPECT_EQ(alive, 0);
}

TEST_P(a_shared_future, races_with_its_promise) {
  const int rounds = many(500, 12);
  for (int round = 0; round < rounds; ++round) {
    promise<int> p;
    const auto shared = p.get_future().share();
    std::thread producer([&p, token = rt.hold_external_work()] { p.set_value(1); });
    std::vector<future<int>> readers;
    for (int i = 0; i < 3; ++i) readers.push_back(rt.spawn(read(shared)));
    EXPECT_EQ(rt.sync_wait(when_all(std::move(readers))).size(), 3u);
    producer.join();
  }
}

TEST_P(a_shared_future, that_is_empty_throws_an_error) {
  EXPECT_FALSE(shared_future<int>().valid());
  EXPECT_THROW(rt.sync_wait(read(shared_future<int>())), usage_error);
  EXPECT_THROW(static_cast<void>(future<int>().share()), usage_error);
}

}  // namespace
