// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>

#include "support.hpp"

namespace {

namespace fs = std::filesystem;
using namespace starling;
using namespace starling_test;

TEST(sigquit, prints_the_waiters_and_continues) {
  EXPECT_EXIT(
      {
        std::signal(SIGQUIT, SIG_DFL);  // a shell's background jobs begin with it ignored
        bool received = false;
        {
          runtime rt(options_with(2));
          channel<int> c;
          auto stuck = [](channel<int>& ch, bool& r) -> task<> {
            r = (co_await ch.receive()) == 1;
          };
          auto waiting = rt.spawn(stuck(c, received));
          rt.wait_idle();
          std::raise(SIGQUIT);
          // A separate thread prints the list, at the latest before the runtime has ended.
          static_cast<void>(c.try_send(1));
          rt.sync_wait(std::move(waiting));
        }
        std::exit(received ? 0 : 1);
      },
      testing::ExitedWithCode(0), "starling: suspended coroutines:");
}

TEST(sigquit, prints_errors_that_are_not_yet_thrown) {
  EXPECT_EXIT(
      {
        std::signal(SIGQUIT, SIG_DFL);
        {
          runtime rt(options_with(1));
          detail::report_unhandled(rt.on_worker(0).home(),
                                   std::make_exception_ptr(std::runtime_error("of a task")));
          detail::end_run(rt.on_worker(0).home(),
                          std::make_exception_ptr(std::runtime_error("of a run")));
          std::raise(SIGQUIT);
        }
        std::exit(0);
      },
      testing::ExitedWithCode(0),
      "suspended coroutines:.*ended the run waits.*of a run.*posted task waits.*of a task");
}

TEST(sigquit, ends_the_program_again_when_no_runtime_is_left) {
  EXPECT_EXIT(
      {
        std::signal(SIGQUIT, SIG_DFL);
        { runtime rt(options_with(1)); }
        { runtime rt(options_with(1)); }
        std::raise(SIGQUIT);
      },
      testing::KilledBySignal(SIGQUIT), "");
}

TEST(sigquit, is_left_to_a_program_with_a_handler_of_its_own) {
  EXPECT_EXIT(
      {
        std::signal(SIGQUIT, [](int) { std::_Exit(5); });
        runtime rt(options_with(1));
        std::raise(SIGQUIT);
      },
      testing::ExitedWithCode(5), "");
}

TEST(sigquit, is_answered_after_signals_that_interrupt_system_calls) {
  EXPECT_EXIT(
      {
        std::signal(SIGQUIT, SIG_DFL);
        struct sigaction interrupt {};
        interrupt.sa_handler = [](int) {};  // without SA_RESTART
        ::sigaction(SIGUSR1, &interrupt, nullptr);
        {
          runtime rt(options_with(2));
          for (int round = 0; round < 100; ++round)
            for (const auto& entry : fs::directory_iterator("/proc/self/task"))
              ::syscall(SYS_tgkill, ::getpid(), std::stoi(entry.path().filename()), SIGUSR1);
          std::raise(SIGQUIT);
        }
        std::exit(0);
      },
      testing::ExitedWithCode(0), "starling: suspended coroutines:");
}

/// Returns the number of descriptors that a started program would inherit.
int inherited_descriptors() {
  int count = 0;
  for (const auto& entry : fs::directory_iterator("/proc/self/fd"))
    count += (::fcntl(std::stoi(entry.path().filename()), F_GETFD) & FD_CLOEXEC) == 0;
  return count;
}

TEST(sigquit, leaves_no_descriptors_to_programs_that_are_started) {
  EXPECT_EXIT(
      {
        std::signal(SIGQUIT, SIG_DFL);
        const int before = inherited_descriptors();
        const runtime rt(options_with(1));
        std::exit(inherited_descriptors() - before);
      },
      testing::ExitedWithCode(0), "");
}

}  // namespace
