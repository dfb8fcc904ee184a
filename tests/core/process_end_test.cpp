// SPDX-License-Identifier: Apache-2.0
// The end of a process by an uncaught error, or with output that cannot be written.
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

#include "support.hpp"

namespace {

using namespace starling;
using namespace starling_test;
using testing::ExitedWithCode;
using testing::KilledBySignal;
using testing::MatchesRegex;

/// Acts like a `main` that catches nothing: GoogleTest would catch its errors here. The output is
/// redirected to stderr, which the death test reads.
template <class F>
void leave_main(F f) {
  ::dup2(2, 1);
  std::printf("buffered ");
  std::thread(f).join();
}

void start_with(std::string option) {
  std::string name = "program";
  char* argv[] = {name.data(), option.data(), nullptr};
  int argc = 2;
  const runtime rt(argc, argv);
}

task<> wait_for_ever(channel<int>& c) { co_await c.receive(); }

TEST(an_error_that_leaves_main, prints_one_line_for_a_wrong_option) {
  EXPECT_EXIT(leave_main([] { start_with("--starling-wrokers=3"); }), ExitedWithCode(2),
              MatchesRegex("buffered starling: unknown option --starling-wrokers=3[^\n]*\n"));
  EXPECT_EXIT(leave_main([] { start_with("--starling-workers=many"); }), ExitedWithCode(2),
              MatchesRegex("buffered starling: --starling-workers [^\n]*'many'[^\n]*\n"));
  EXPECT_EXIT(leave_main([] { start_with("--starling-trace=/nowhere/t.json"); }), ExitedWithCode(2),
              MatchesRegex("buffered starling: --starling-trace [^\n]*/nowhere/t.json[^\n]*\n"));
}

TEST(an_error_that_leaves_main, prints_the_list_of_awaiters_for_a_hang) {
  EXPECT_EXIT(leave_main([] {
                runtime rt(options_with(1));
                channel<int> c;
                rt.sync_wait(wait_for_ever(c));
              }),
              ExitedWithCode(EXIT_FAILURE),
              MatchesRegex("buffered starling: nothing is runnable.*"
                           "process_end_test.cpp:[0-9]+: wait_for_ever awaits a channel.*\n"));
}

TEST(an_error_that_leaves_main, terminates_as_usual_if_its_type_is_of_the_program) {
  EXPECT_EXIT(leave_main([] {
                runtime rt(options_with(1));
                throw std::logic_error("mine");
              }),
              KilledBySignal(SIGABRT), "terminate called");
}

TEST(an_error_that_leaves_main, reaches_the_terminate_handler_of_a_program) {
  EXPECT_EXIT(leave_main([] {
                std::set_terminate([] { std::_Exit(9); });
                start_with("--starling-wrokers=3");
              }),
              ExitedWithCode(9), "");
}

TEST(an_error_on_a_worker_that_cannot_be_caught, leaves_a_core_file) {
  EXPECT_EXIT(
      {
        runtime rt(options_with(1));
        rt.sync_wait([]() -> task<> {
          const auto fail = [] { throw usage_error("on a worker"); };
          [&]() noexcept { fail(); }();
          co_return;
        }());
      },
      KilledBySignal(SIGABRT), "on a worker");
}

TEST(a_full_standard_output, is_not_a_success) {
  EXPECT_EXIT(
      {
        const runtime rt(options_with(1));
        ::dup2(::open("/dev/full", O_WRONLY), 1);
        std::printf("a result");
        std::exit(0);
      },
      ExitedWithCode(EXIT_FAILURE),
      "starling: standard output could not be written: (No space|some of it is lost)");
  EXPECT_EXIT(
      {
        const runtime rt(options_with(1));
        ::dup2(::open("/dev/full", O_WRONLY), 1);
        std::cout << "a result" << std::endl;
        std::exit(0);
      },
      ExitedWithCode(EXIT_FAILURE), "starling: standard output could not be written");
}

TEST(a_full_trace, is_not_a_success) {
  EXPECT_EXIT(
      {
        runtime_options options = options_with(1);
        options.trace_file = "/dev/full";
        { runtime rt(options); }
        std::exit(0);
      },
      ExitedWithCode(EXIT_FAILURE), "trace not written: .*/dev/full.*No space left");
}

TEST(a_run_without_faults, keeps_its_exit_code) {
  EXPECT_EXIT(
      {
        { const runtime rt(options_with(1)); }
        std::printf("a result");
        std::exit(0);
      },
      ExitedWithCode(0), MatchesRegex(""));
}

}  // namespace
