// SPDX-License-Identifier: Apache-2.0
// The destructor of a runtime: what it waits for and what it cancels.
#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <stop_token>
#include <string>
#include <thread>

#include "support.hpp"

namespace {

using namespace starling;
using namespace starling_test;
using namespace std::chrono_literals;

class an_ending_runtime : public with_workers {};
INSTANTIATE_TEST_SUITE_P(core, an_ending_runtime, worker_counts, worker_count_name);

task<int> number(int x) { co_return x; }

task<> yielding() {
  for (;;) co_await yield();
}

task<> computing(std::atomic<bool>& has_begun) {
  has_begun = true;
  for (;;) std::this_thread::yield();
  co_return;
}

TEST_P(an_ending_runtime, does_not_wait_for_tasks_that_sleep_again_and_again) {
  testing::internal::CaptureStderr();
  int alive = 0;
  {
    runtime other(options_with(GetParam()));
    auto ticker = [](counted) -> task<> {
      for (;;) co_await sleep_for(1ms);
    };
    auto stoppable = [](counted) -> task<> {
      const std::stop_source stop;
      for (;;) co_await sleep_for(1ms, stop.get_token());
    };
    other.post(ticker(counted(alive)));
    auto dropped = other.spawn(ticker(counted(alive)));
    other.on_worker(0).post(stoppable(counted(alive)));
  }
  EXPECT_EQ(alive, 0);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

/// Frames of two sizes in turn, so that a sleep seldom reuses the memory of the previous one.
task<> pause(counted) { co_await sleep_for(1ms); }
task<> long_pause(counted, std::array<char, 1000>) { co_await sleep_for(1ms); }

TEST_P(an_ending_runtime, does_not_wait_for_tasks_whose_children_sleep_again_and_again) {
  testing::internal::CaptureStderr();
  int alive = 0;
  {
    runtime other(options_with(GetParam()));
    other.post([](int& n) -> task<> {
      for (;;) {
        co_await pause(counted(n));
        co_await long_pause(counted(n), {});
      }
    }(alive));
    other.post([](int& n) -> task<> {
      for (;;) co_await spawn(pause(counted(n)));  // taken back before it begins: a child
    }(alive));
  }
  EXPECT_EQ(alive, 0);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST_P(an_ending_runtime, waits_for_a_sleep_of_each_task_wherever_its_frame_lies) {
  testing::internal::CaptureStderr();
  int ended = 0;
  {
    runtime other(options_with(GetParam()));
    static constexpr auto sleeper = [](int& n) -> task<> {
      co_await sleep_for(10ms);
      ++n;
    };
    // The frame of the posted task reuses the memory of the child's frame.
    other.on_worker(0).post([](int& n) -> task<> {
      co_await sleeper(n);
      runtime::current()->on_worker(0).post(sleeper(n));
    }(ended));
  }
  EXPECT_EQ(ended, 2);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST_P(an_ending_runtime, cuts_all_sleeps_short_when_its_run_was_ended) {
  testing::internal::CaptureStderr();
  bool was_told = false;
  {
    runtime other(options_with(GetParam()));
    auto sleeper = [](bool& told) -> task<> {
      try {
        co_await sleep_for(24h);
      } catch (const runtime_ends&) {
        told = true;
      }
    };
    other.post(sleeper(was_told));
    detail::end_run(other.on_worker(0).home(), nullptr);
  }
  EXPECT_TRUE(was_told);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST_P(an_ending_runtime, finishes_work_that_runs_beside_sleeps) {
  int done = 0;
  {
    runtime other(options_with(GetParam()));
    other.post([]() -> task<> {
      for (;;) co_await sleep_for(1ms);
    }());
    other.post([](int& n) -> task<> {
      for (int i = 0; i < 1000; ++i) {
        co_await yield();
        ++n;
      }
    }(done));
  }
  EXPECT_EQ(done, 1000);
}

TEST_P(an_ending_runtime, gives_up_on_tasks_that_sleep_again_after_cancellation) {
  testing::internal::CaptureStderr();
  // Long only after the interruption: the end of a runtime waits for sleeps that began before.
  auto stubborn = []() -> task<> {
    std::chrono::nanoseconds length = 1ms;
    for (;;) try {
        co_await sleep_for(length);  // named below
      } catch (const runtime_ends&) {
        length = 1h;
      }
  };
  const int line = __LINE__ - 5;
  {
    runtime other(options_with(GetParam()));
    other.post(stubborn());
  }
  const std::string printed = testing::internal::GetCapturedStderr();
  EXPECT_NE(printed.find("runtime_end_test.cpp:" + std::to_string(line)), printed.npos) << printed;
  EXPECT_EQ(rt.sync_wait(number(4)), 4);
}

TEST(the_end_of_a_runtime_whose_run_was_ended, does_not_wait_for_ever_for_running_tasks) {
  EXPECT_EXIT(
      {
        static std::atomic<bool> is_busy{false};
        {
          runtime rt(options_with(2));
          rt.on_worker(0).post(yielding());
          rt.on_worker(1).post(computing(is_busy));
          while (!is_busy) std::this_thread::yield();
          detail::end_run(rt.on_worker(0).home(), nullptr);
        }
        std::_Exit(7);
      },
      testing::ExitedWithCode(7), "the run was ended 5 s ago .*computing, running");
}

}  // namespace
