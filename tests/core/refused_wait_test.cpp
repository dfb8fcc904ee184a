// SPDX-License-Identifier: Apache-2.0
// An await that did not suspend after all leaves nothing for the hang diagnosis to report.
#include <atomic>
#include <coroutine>
#include <new>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "support.hpp"
#include "support/scarce_memory.hpp"

namespace {

using namespace starling;
using namespace starling_test;
using namespace std::chrono_literals;

/// Ignores that its result is available, as if it had arrived a moment later.
template <class Awaiter>
struct late : Awaiter {
  explicit late(Awaiter&& a) noexcept : Awaiter(std::move(a)) {}
  bool await_ready() const noexcept { return false; }
};

/// Tests the list of suspended coroutines for a running task that has awaited before.
class a_wait_that_was_refused : public testing::Test {
 protected:
  /// Returns the list during `run_on`, which `awaits` calls after its wait.
  std::string told_of(task<> awaits) {
    auto end = rt.spawn(std::move(awaits));
    while (!m_runs) std::this_thread::yield();
    std::string list = rt.describe_awaiters();
    m_over = true;
    rt.sync_wait(std::move(end));
    return list;
  }
  void run_on() {
    m_runs = true;
    while (!m_over) std::this_thread::yield();
  }

  runtime rt{options_with(1)};

 private:
  std::atomic<bool> m_runs{false};
  std::atomic<bool> m_over{false};
};

TEST_F(a_wait_that_was_refused, for_a_shared_future_leaves_no_record) {
  EXPECT_EQ(told_of([](auto& self) -> task<> {
              const auto shared = make_ready_future(1).share();
              co_await late(shared.operator co_await());
              self.run_on();
            }(*this)),
            "");
}

TEST_F(a_wait_that_was_refused, for_a_future_leaves_no_record) {
  EXPECT_EQ(told_of([](auto& self) -> task<> {
              auto ready = make_ready_future(1);
              co_await late(ready.operator co_await());
              self.run_on();
            }(*this)),
            "");
}

TEST_F(a_wait_that_was_refused, for_a_stopped_timer_leaves_no_record) {
  EXPECT_EQ(told_of([](auto& self) -> task<> {
              std::stop_source stop;
              stop.request_stop();
              try {
                co_await sleep_for(1h, stop.get_token());
              } catch (const operation_cancelled&) {
              }
              self.run_on();
            }(*this)),
            "");
}

TEST_F(a_wait_that_was_refused, for_a_timer_without_memory_leaves_no_record) {
  EXPECT_EQ(told_of([](auto& self) -> task<> {
              auto sleep = sleep_for(1h);
              bool refused = false;
              try {
                refuse_memory(true);
                co_await sleep;
              } catch (const std::bad_alloc&) {
                refused = true;
              }
              refuse_memory(false);
              EXPECT_TRUE(refused);
              self.run_on();
            }(*this)),
            "");
}

TEST_F(a_wait_that_was_refused, for_a_race_leaves_no_record) {
  EXPECT_EQ(told_of([](auto& self) -> task<> {
              auto one = make_ready_future(1);
              detail::state_base* const states[] = {one.state()};
              EXPECT_EQ(co_await detail::race_awaiter(states), 0u);
              self.run_on();
            }(*this)),
            "");
}

}  // namespace
