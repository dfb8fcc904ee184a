// SPDX-License-Identifier: Apache-2.0
#include <thread>
#include <vector>

#include <starling/core/detail/biased_lock.hpp>

#include "support.hpp"

namespace {

using namespace starling;
using namespace starling_test;
using starling::detail::biased_lock;

struct counter {
  biased_lock lock;
  long value = 0;  // guarded by lock

  void add() {
    const biased_lock::guard held(lock);
    value = value + 1;
  }
};

task<> add_often(counter& c, int times) {
  for (int i = 0; i < times; ++i) {
    c.add();
    if (i % 1000 == 999) co_await yield();
  }
}

TEST(a_biased_lock, admits_one_at_a_time_in_turns_and_in_long_runs) {
  constexpr int tasks = 8;
  const int times = many(20000, 2000);
  counter c;
  runtime rt(options_with(3));
  std::vector<future<>> all;
  for (int i = 0; i < tasks; ++i) all.push_back(rt.spawn(add_often(c, times)));
  std::thread outside([&] {
    for (int i = 0; i < times; ++i) {
      c.add();
      if (i % 100 == 0) std::this_thread::yield();
    }
  });
  rt.sync_wait(when_all(std::move(all)));
  outside.join();
  EXPECT_EQ(c.value, long(tasks + 1) * times);
}

TEST(a_biased_lock, outlives_the_worker_that_it_was_biased_to) {
  counter c;
  for (int i = 0; i < 3; ++i) {
    runtime rt(options_with(1));
    rt.sync_wait(add_often(c, 500));
  }
  c.add();
  EXPECT_EQ(c.value, 1501);
}

}  // namespace
