// SPDX-License-Identifier: Apache-2.0
// A forked child may not use a runtime of its parent.
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <optional>
#include <string>

#include "support.hpp"
#include "support/sanitizers.hpp"

namespace {

bool s_is_child = false;

}  // namespace

/// Read by LeakSanitizer. The parent's threads do not exist in the child, so their memory looks
/// leaked.
extern "C" int __lsan_is_turned_off() { return s_is_child ? 1 : 0; }  // NOLINT: its name

namespace {

using namespace starling;
using namespace starling_test;

/// Returns the exit code of a child that calls `f` and then ends; or minus the signal that killed
/// it, such as SIGALRM if it hangs.
template <class F>
int code_of_child(F f) {
  const pid_t child = ::fork();
  if (child == 0) {
    s_is_child = true;
    ::alarm(60);
    f();
    ::_exit(0);
  }
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

/// Ends the child with 1 unless `f` throws a usage_error that names fork.
template <class F>
void must_name_fork(F f) {
  try {
    f();
  } catch (const usage_error& e) {
    if (std::string(e.what()).find("fork") != std::string::npos) return;
  }
  ::_exit(1);
}

task<int> number(int x) { co_return x; }

class a_forked_child : public with_workers {
 protected:
  void SetUp() override {
    if (has_address_sanitizer)
      GTEST_SKIP() << "the address sanitizer's locks may be held for ever in a forked child";
  }
  // The parent's runtime still works.
  void TearDown() override { EXPECT_EQ(rt.sync_wait(number(4)), 4); }
};
INSTANTIATE_TEST_SUITE_P(core, a_forked_child, worker_counts, worker_count_name);

TEST_P(a_forked_child, may_call_exec_and_exit) {
  EXPECT_EQ(rt.sync_wait(number(1)), 1);
  EXPECT_EQ(code_of_child([] { ::_exit(3); }), 3);
  EXPECT_EQ(code_of_child([] { std::exit(4); }), 4);
  EXPECT_EQ(code_of_child([] { ::execl("/bin/sh", "sh", "-c", "exit 5", nullptr); }), 5);
}

TEST_P(a_forked_child, may_destroy_objects_of_the_parent) {
  std::optional<runtime> other(options_with(GetParam()));
  std::optional<external_work> token(other->hold_external_work());
  std::optional<promise<int>> kept(std::in_place);
  auto awaited =
      other->spawn([](future<int> f) -> task<int> { co_return co_await f; }(kept->get_future()));
  EXPECT_EQ(code_of_child([&] {
              kept.reset();
              token.reset();
              other.reset();
            }),
            0);
  kept->set_value(7);
  EXPECT_EQ(other->sync_wait(std::move(awaited)), 7);
}

TEST_P(a_forked_child, is_refused_the_runtime_of_its_parent_and_any_other) {
  EXPECT_EQ(code_of_child([this] {
              must_name_fork([this] { rt.sync_wait(number(2)); });
              must_name_fork([this] { rt.wait_idle(); });
              must_name_fork([] { const runtime mine(options_with(1)); });
            }),
            0);
}

TEST_P(a_forked_child, of_a_busy_runtime_finds_no_lock_held_for_ever) {
  std::atomic<bool> over{false};
  auto churn = [](auto& self, int depth) -> task<int> {
    if (depth == 0) co_return 1;
    auto a = spawn(self(self, depth - 1));
    const int b = co_await self(self, depth - 1);
    co_return b + co_await a;
  };
  auto work = [](auto& c, std::atomic<bool>& end) -> task<> {
    while (!end) co_await c(c, 8);
  };
  auto busy = rt.spawn(work(churn, over));
  for (int i = 0; i < many(100, 10); ++i)
    EXPECT_EQ(code_of_child([&, this] {
                must_name_fork([&, this] { rt.sync_wait(churn(churn, 4)); });
                must_name_fork([] { const runtime mine(options_with(1)); });
                rt.post(number(1));  // dropped
              }),
              0);
  over = true;
  rt.sync_wait(std::move(busy));
}

TEST_P(a_forked_child, of_a_task_may_call_exec_and_must_not_continue) {
  const int code = rt.sync_wait([]() -> task<int> {
    co_return code_of_child([] { ::execl("/bin/sh", "sh", "-c", "exit 6", nullptr); });
  }());
  EXPECT_EQ(code, 6);
  const auto goes_on = [this] {
    return rt.sync_wait([]() -> task<int> {
      const pid_t child = ::fork();
      if (child == 0) {
        ::alarm(60);
        co_await yield();
        co_return 0;
      }
      int status = 0;
      ::waitpid(child, &status, 0);
      co_return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    }());
  };
  EXPECT_EQ(goes_on(), EXIT_FAILURE);
}

TEST(a_fork_without_a_runtime, leaves_both_sides_free_to_make_one) {
  EXPECT_EQ(code_of_child([] {
              runtime mine(options_with(2));
              if (mine.sync_wait(number(3)) != 3) ::_exit(1);
            }),
            0);
  runtime mine(options_with(2));
  EXPECT_EQ(mine.sync_wait(number(3)), 3);
}

TEST(sigquit_in_a_forked_child, ends_it_and_is_not_taken_for_the_parents) {
  EXPECT_EXIT(
      {
        std::signal(SIGQUIT, SIG_DFL);
        runtime rt(options_with(2));
        std::exit(code_of_child([] { std::raise(SIGQUIT); }) == -SIGQUIT ? 0 : 1);
      },
      testing::ExitedWithCode(0), testing::MatchesRegex(""));
}

}  // namespace
