// SPDX-License-Identifier: Apache-2.0
#include "support/run_all.hpp"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include <gtest/gtest.h>
#include <unistd.h>

#include "support/expected_skips.hpp"

namespace {

class seed_printer final : public testing::EmptyTestEventListener {
  void OnTestEnd(const testing::TestInfo& info) override {  // NOLINT: GoogleTest's name
    const char* seed = std::getenv("STARLING_CHAOS");
    if (seed == nullptr || !info.result()->Failed()) return;
    std::printf("repeat with STARLING_CHAOS=%s --gtest_filter=%s.%s\n", seed,
                info.test_suite_name(), info.name());
  }
};

/// Ends the program when a case takes longer than the environment's TEST_CASE_SECONDS. Before,
/// runtimes get SIGQUIT and five seconds to print their suspended coroutines.
class time_limit final : public testing::EmptyTestEventListener {
 public:
  explicit time_limit(unsigned seconds) : m_seconds(seconds) { std::signal(SIGALRM, &expire); }

 private:
  static void expire(int) {  // only async-signal-safe calls
    if (s_is_over) ::_exit(1);
    s_is_over = 1;
    constexpr std::string_view text =
        "\nThe last test named by [ RUN ] has not ended within TEST_CASE_SECONDS.\n";
    static_cast<void>(!::write(STDERR_FILENO, text.data(), text.size()));
    struct sigaction now {};
    if (::sigaction(SIGQUIT, nullptr, &now) != 0 || now.sa_handler == SIG_DFL) ::_exit(1);
    ::alarm(5);
    ::kill(::getpid(), SIGQUIT);
  }
  void OnTestStart(const testing::TestInfo&) override { ::alarm(m_seconds); }  // NOLINT: as below
  void OnTestEnd(const testing::TestInfo&) override { ::alarm(0); }  // NOLINT: GoogleTest's name

  static inline volatile std::sig_atomic_t s_is_over = 0;
  unsigned m_seconds;
};

/// Turns a skip into a failure unless the list of expected skips excuses it.
class skip_judge final : public testing::EmptyTestEventListener {
  void OnTestEnd(const testing::TestInfo& info) override {  // NOLINT: GoogleTest's name
    if (!info.result()->Skipped()) return;
    for (int i = 0; i < info.result()->total_part_count(); ++i) {
      const testing::TestPartResult& part = info.result()->GetTestPartResult(i);
      if (part.skipped() && starling_test::excuse_of(part.message()) == nullptr)
        ADD_FAILURE() << "skipped without an excuse that holds on this machine: \""
                      << part.message()
                      << "\": mend what is missing, or add the reason and the property of machines "
                         "that excuses it to tests/support/expected_skips.cpp";
    }
  }
};

}  // namespace

/// Read by ThreadSanitizer. The reference count of exceptions is in libstdc++, which is not
/// instrumented: an exception that one thread has caught and another frees looks like a race.
extern "C" const char* __tsan_default_suppressions() {  // NOLINT: the sanitizer's name
  return "race:std::logic_error::~logic_error\n"
         "race:std::runtime_error::~runtime_error\n"
         "race:std::__exception_ptr::exception_ptr::_M_release\n";
}

/// Read by LeakSanitizer. HDF5 does not free the descriptions of types that it finds damaged.
extern "C" const char* __lsan_default_suppressions() {  // NOLINT: the sanitizer's name
  return "leak:libhdf5\n";
}

int starling_test::run_all(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  // The end of a test reaches the last listener first: a failure that it adds is printed.
  testing::TestEventListeners& listeners = testing::UnitTest::GetInstance()->listeners();
  listeners.Append(new seed_printer);
  listeners.Append(new skip_judge);
  if (const char* seconds = std::getenv("TEST_CASE_SECONDS"))
    listeners.Append(new time_limit(static_cast<unsigned>(std::strtoul(seconds, nullptr, 10))));
  return RUN_ALL_TESTS();
}
