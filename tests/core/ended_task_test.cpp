// SPDX-License-Identifier: Apache-2.0
// Resources of an ended task: its result remains, its parameters and locals do not.
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "support.hpp"

namespace {

using namespace starling;
using namespace starling_test;

class an_ended_task : public with_workers {};
INSTANTIATE_TEST_SUITE_P(core, an_ended_task, worker_counts, worker_count_name);

task<int> keeping(counted, int value) {
  co_await yield();
  co_return value;
}
task<int> failing(counted) {
  co_await yield();
  throw std::length_error("the mesh is empty");
}

TEST_P(an_ended_task, whose_future_is_kept_has_no_parameters) {
  int alive = 0;
  auto result = rt.spawn(keeping(counted(alive), 3));
  rt.wait_idle();
  EXPECT_TRUE(result.is_ready());
  EXPECT_EQ(alive, 0);
  EXPECT_EQ(rt.sync_wait(std::move(result)), 3);
}

TEST_P(an_ended_task, that_threw_has_no_parameters) {
  int alive = 0;
  auto result = rt.spawn(failing(counted(alive)));
  rt.wait_idle();
  EXPECT_EQ(alive, 0);
  EXPECT_THROW(rt.sync_wait(std::move(result)), std::length_error);
}

TEST_P(an_ended_task, that_its_parent_still_holds_has_no_parameters) {
  int alive = 0;
  EXPECT_EQ(rt.sync_wait([](int& n) -> task<int> {
    const auto child = keeping(counted(n), 4);
    const int value = co_await child;
    co_return n == 0 ? value : -1;
  }(alive)),
            4);
}

TEST_P(an_ended_task, destroys_its_parameters_before_its_consumer_resumes) {
  int alive = 0;
  EXPECT_TRUE(rt.sync_wait([](int& n) -> task<bool> {
    bool gone = true;
    for (int i = 0; i < 100; ++i) {
      co_await spawn(keeping(counted(n), i));
      gone = gone && n == 0;
    }
    co_return gone;
  }(alive)));
}

TEST_P(an_ended_task, keeps_its_result_until_the_future_is_destroyed) {
  int alive = 0;
  {
    auto result = rt.spawn([](int& n) -> task<counted> { co_return counted(n); }(alive));
    rt.wait_idle();
    EXPECT_EQ(alive, 1);
  }
  EXPECT_EQ(alive, 0);
}

TEST_P(an_ended_task, whose_future_was_dropped_destroys_its_result) {
  int alive = 0;
  for (int i = 0; i < 20; ++i)
    static_cast<void>(rt.spawn([](int& n) -> task<counted> {
      co_await yield();
      co_return counted(n);
    }(alive)));
  rt.wait_idle();
  EXPECT_EQ(alive, 0);
}

TEST_P(an_ended_task, that_was_posted_destroys_its_parameters) {
  int alive = 0;
  for (int i = 0; i < 20; ++i) rt.on_worker(0).post(keeping(counted(alive), i));
  rt.wait_idle();
  EXPECT_EQ(alive, 0);
}

TEST(a_task_that_never_ran, destroys_its_parameters_with_itself) {
  int alive = 0;
  { const auto unused = keeping(counted(alive), 1); }
  EXPECT_EQ(alive, 0);
}

void count_frame(void*, void* count) { ++*static_cast<int*>(count); }
int live_frames() {
  int n = 0;
  detail::for_each_frame(&count_frame, &n);
  return n;
}

using part = std::vector<double>;

task<part> first_part(int value) { co_return part(10, double(value)); }
task<part> next_part(shared_future<part> left, shared_future<part> mid, shared_future<part> right) {
  const part& a = co_await left;
  const part& b = co_await mid;
  const part& c = co_await right;
  part sum(b.size());
  for (std::size_t i = 0; i < b.size(); ++i) sum[i] = b[i] + 0.25 * (a[i] - 2 * b[i] + c[i]);
  co_return sum;
}

/// Runs a ring of cells, each step of which is a task over the shared futures of the step before.
/// Returns the largest number of frames that existed at once.
task<int> dataflow(int steps, double& total) {
  constexpr std::size_t parts = 4;
  std::vector<shared_future<part>> now;
  std::vector<shared_future<part>> next(parts);
  for (std::size_t i = 0; i < parts; ++i) now.push_back(spawn(first_part(int(i))).share());
  int most = 0;
  for (int step = 0; step < steps; ++step) {
    for (std::size_t i = 0; i < parts; ++i)
      next[i] =
          spawn(next_part(now[(i + parts - 1) % parts], now[i], now[(i + 1) % parts])).share();
    std::swap(now, next);
    if (step % 16 == 15) co_await now[0];
    if (step % 4096 == 4095) most = std::max(most, live_frames());
  }
  for (const auto& p : now)
    for (const double v : co_await p) total += v;
  co_return most;
}

TEST_P(an_ended_task, of_a_long_dataflow_keeps_no_history) {
  const int steps = many(200'000, 10'000);
  double total = 0;
  const int most = rt.sync_wait(dataflow(steps, total));
  EXPECT_NEAR(total, 60.0, 1e-6);  // the exchange between neighbours preserves the sum
  EXPECT_LT(most, 2000);
}

task<int> wrapped(task<int> inner) { co_return co_await std::move(inner) + 1; }
task<int> one() { co_return 1; }

TEST_P(an_ended_task, in_which_ended_tasks_are_nested_does_not_grow_the_stack) {
  const int depth = many(200'000, 20'000);
  task<int> nest = one();
  for (int i = 1; i < depth; ++i) nest = wrapped(std::move(nest));
  EXPECT_EQ(rt.sync_wait(std::move(nest)), depth);
}

}  // namespace
