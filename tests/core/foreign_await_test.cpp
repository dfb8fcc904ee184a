// SPDX-License-Identifier: Apache-2.0
// Tasks that await awaitables of another library, which resumes them on any thread.
#include <chrono>
#include <coroutine>
#include <future>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "support.hpp"

namespace {

using namespace starling;
using namespace starling_test;
using namespace std::chrono_literals;

class a_task_that_another_thread_resumes : public with_workers {};
INSTANTIATE_TEST_SUITE_P(core, a_task_that_another_thread_resumes, worker_counts,
                         worker_count_name);

/// A thread that resumes the coroutine given to it.
class resumer {
 public:
  using handle_promise = std::promise<std::coroutine_handle<>>;
  resumer() = default;
  resumer(const resumer&) = delete;
  resumer& operator=(const resumer&) = delete;
  ~resumer() { m_thread.join(); }
  /// To be kept while it is fulfilled: the coroutine may have ended before `set_value` returns.
  [[nodiscard]] std::shared_ptr<handle_promise> given() const { return m_given; }

 private:
  std::shared_ptr<handle_promise> m_given = std::make_shared<handle_promise>();
  std::thread m_thread{[f = m_given->get_future()]() mutable { f.get().resume(); }};
};

/// Resumes the coroutine on the resumer's thread.
struct on_thread {
  explicit on_thread(const resumer& r) : by(&r) {}
  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> h) const {
    const auto given = by->given();
    given->set_value(h);
  }
  int await_resume() const noexcept { return 42; }
  const resumer* by;
};

task<int> child() { co_return 1; }

/// The next step of a task after it has been resumed.
using next_step = task<int> (*)(runtime&);

task<int> resumed_then(runtime& rt, next_step next, const resumer& by) {
  const auto token = rt.hold_external_work();
  const int value = co_await on_thread(by);
  if (next == nullptr) co_return value;
  co_return value + co_await next(rt);
}

int value_after(runtime& rt, next_step next) {
  const resumer by;
  return rt.sync_wait(resumed_then(rt, next, by));
}

TEST_P(a_task_that_another_thread_resumes, may_end) { EXPECT_EQ(value_after(rt, nullptr), 42); }

TEST_P(a_task_that_another_thread_resumes, is_on_a_worker_of_its_runtime) {
  EXPECT_EQ(
      value_after(
          rt, [](runtime& mine) -> task<int> { co_return runtime::current() == &mine ? 1 : 0; }),
      43);
}

TEST_P(a_task_that_another_thread_resumes, may_await_and_spawn) {
  EXPECT_EQ(value_after(rt,
                        [](runtime& r) -> task<int> {
                          co_return co_await r.spawn(child()) + co_await spawn(child()) +
                              co_await child();
                        }),
            45);
}

TEST_P(a_task_that_another_thread_resumes, may_yield_move_and_sleep) {
  EXPECT_EQ(value_after(rt,
                        [](runtime& r) -> task<int> {
                          co_await yield();
                          co_await r.get_executor().schedule();
                          co_await sleep_for(1us);
                          co_return 1;
                        }),
            43);
}

TEST_P(a_task_that_another_thread_resumes, is_on_its_own_worker_where_it_is_pinned) {
  const unsigned last = rt.worker_count() - 1;
  const resumer by;
  auto where = [](runtime& r, const resumer& t) -> task<int> {
    const auto token = r.hold_external_work();
    co_await on_thread(t);
    co_return runtime::worker_index();
  };
  EXPECT_EQ(rt.sync_wait(rt.on_worker(last).spawn(where(rt, by))), int(last));
}

/// Awaitables that do not suspend, in each of the possible ways.
struct ready_in_the_end {
  bool await_ready() const noexcept { return false; }
  bool await_suspend(std::coroutine_handle<>) const noexcept { return false; }
  int await_resume() const noexcept { return 1; }
};
struct handed_back {
  bool await_ready() const noexcept { return false; }
  std::coroutine_handle<> await_suspend(std::coroutine_handle<> h) const noexcept { return h; }
  int await_resume() const noexcept { return 2; }
};
struct resumed_in_place {
  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> h) const { h.resume(); }
  int await_resume() const noexcept { return 3; }
};
struct failing {
  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<>) const { throw std::length_error("no thread"); }
  void await_resume() const noexcept {}
};
struct with_operator {
  handed_back operator co_await() const noexcept { return {}; }
};

class an_awaitable_of_another_library : public with_workers {};
INSTANTIATE_TEST_SUITE_P(core, an_awaitable_of_another_library, worker_counts, worker_count_name);

TEST_P(an_awaitable_of_another_library, may_resume_at_once) {
  EXPECT_EQ(rt.sync_wait([]() -> task<int> {
    handed_back kept;
    co_return co_await ready_in_the_end() * 1000 + co_await kept * 100 +
        co_await resumed_in_place() * 10 + co_await with_operator();
  }()),
            1232);
}

TEST_P(an_awaitable_of_another_library, may_throw) {
  EXPECT_THROW(rt.sync_wait([]() -> task<> { co_await failing(); }()), std::length_error);
}

TEST(an_awaitable_that_never_resumes, is_a_hang_with_its_source_location) {
  struct never {
    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<>) const noexcept {}
    void await_resume() const noexcept {}
  };
  runtime rt(options_with(1));
  const std::string text =
      message_of<hang_error>([&] { rt.sync_wait([]() -> task<> { co_await never(); }()); });
  EXPECT_NE(text.find("foreign_await_test.cpp:"), text.npos) << text;
}

}  // namespace
