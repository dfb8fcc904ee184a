// SPDX-License-Identifier: Apache-2.0
// `exit_run`: ends the run from any place.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <future>
#include <stdexcept>
#include <utility>

#include <starling/core.hpp>
#include <starling/objects.hpp>

#include "../core/support.hpp"

namespace starling {
namespace {

using starling_test::with_workers;

class exiting_chares : public with_workers {};
INSTANTIATE_TEST_SUITE_P(on, exiting_chares, starling_test::worker_counts,
                         starling_test::worker_count_name);

struct quitter : chare<quitter> {
  void bounce(int n) { this_array()[n % 2].invoke<&quitter::bounce>(n + 1); }
  void leave(int status) { exit_run(status); }
  task<> wait_for_ever() { co_await when<&quitter::nothing>(); }
  awaited nothing();
};

TEST_P(exiting_chares, end_the_run_from_anywhere) {
  EXPECT_THROW(exit_run(), usage_error);
  const auto all = create_array<quitter>(rt, 2, placement::round_robin);
  testing::internal::CaptureStderr();
  const int status = run(rt, [](chare_array<quitter> a) -> task<> {
    a[0].invoke<&quitter::bounce>(1);  // would bounce without end
    a[1].invoke<&quitter::leave>(7);
    co_await a[0].call<&quitter::wait_for_ever>();
  }(all));
  EXPECT_EQ(status, 7);
  EXPECT_EQ(run(rt, []() -> task<> { co_return; }()), 0);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST_P(exiting_chares, may_all_end_the_run_before_it_is_waited_for) {
  const auto all = create_array<quitter>(rt, 8, placement::round_robin);
  all.invoke<&quitter::leave>(3);
  EXPECT_EQ(run(rt,
                []() -> task<> {
                  promise<> never;
                  co_await never.get_future();
                }()),
            3);
  rt.wait_idle();  // the run does not end a second time
}

TEST_P(exiting_chares, that_exit_late_do_not_end_the_run_again) {
  std::promise<void> ended;
  promise<> told;
  rt.post([](std::promise<void>& now) -> task<> {
    exit_run(3);
    now.set_value();
    co_return;
  }(ended));
  rt.post([](future<> f) -> task<> {
    future<> until = std::move(f);
    co_await std::move(until);
    exit_run(5);
  }(told.get_future()));
  ended.get_future().wait();
  EXPECT_EQ(run(rt, []() -> task<> { co_return; }()), 3);  // no `run` had awaited the status
  told.set_value();
  rt.wait_idle();
  EXPECT_EQ(run(rt, []() -> task<> { co_return; }()), 0);
}

struct adder : chare<adder> {
  void add(int n) { m_sum += n; }
  int sum() const { return m_sum; }

 private:
  int m_sum = 0;
};

/// Adds by messages and quiescence; both must work as in a runtime that has not ended a run yet.
task<int> add_up(runtime& rt) {
  const auto all = create_array<adder>(rt, 4, placement::round_robin);
  all.invoke<&adder::add>(1);
  co_await quiescence();
  int sum = 0;
  for (int i = 0; i < 4; ++i) sum += co_await all[i].call<&adder::sum>();
  co_return sum;
}

TEST_P(exiting_chares, leave_the_next_run_of_the_same_thread_alone) {
  const int rounds = starling_test::many(200, 20);
  for (int round = 0; round < rounds; ++round) {
    const auto all = create_array<quitter>(rt, 8, placement::round_robin);
    EXPECT_EQ(
        run(rt,
            [](chare_array<quitter> a) -> task<> { co_await a[7].call<&quitter::leave>(7); }(all)),
        7);
    ASSERT_EQ(run(rt, add_up(rt)), 4) << round;
  }
}

struct looper : chare<looper> {
  task<> loop() {
    for (int i = 0;; ++i) {
      co_await barrier();
      if (i == 3 && this_index() == 0) exit_run(4);
    }
  }
};

// Reductions that continued after the run would also keep the runtime from ending.
TEST_P(exiting_chares, in_endless_rounds_of_reductions_end_with_the_run) {
  const auto all = create_array<looper>(rt, 6, placement::round_robin);
  all.invoke<&looper::loop>();
  EXPECT_EQ(run(rt,
                []() -> task<> {
                  promise<> never;
                  co_await never.get_future();
                }()),
            4);
}

struct failing : chare<failing> {
  void fail() {
    if (this_index() == 3) throw std::runtime_error("density is negative");
  }
};

task<int> fail_in_an_entry_method(runtime& rt) {
  create_array<failing>(rt, 4, placement::block).invoke<&failing::fail>();
  co_await quiescence();
  co_return 0;
}
task<int> fail_in_the_task(runtime&) {
  throw std::out_of_range("no such cell");
  co_return 0;
}
task<int> wait_for_nothing(runtime&) {
  promise<> never;
  co_await never.get_future();
  co_return 0;
}

/// A program whose `main` catches nothing. stderr is buffered, as by a full pipe.
void program(task<int> (*start)(runtime&)) noexcept {
  static char buffer[1 << 16];
  std::setvbuf(stderr, buffer, _IOFBF, sizeof buffer);
  runtime rt(starling_test::options_with(2));
  std::exit(run(rt, start(rt)));
}

class programs_without_handlers : public testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST_F(programs_without_handlers, end_with_one_line_and_status_1) {
  const testing::ExitedWithCode failed(EXIT_FAILURE);
  EXPECT_EXIT(program(&fail_in_an_entry_method), failed,
              "^starling: failing\\[3\\]\\.fail: density is negative \\([^\n]*\\)\n$");
  EXPECT_EXIT(program(&fail_in_the_task), failed, "^starling: no such cell\n$");
  EXPECT_EXIT(program(&wait_for_nothing), failed,
              "^starling: nothing is runnable and nothing is in flight, but these still wait");
}

}  // namespace
}  // namespace starling
