// SPDX-License-Identifier: Apache-2.0
// The usual GoogleTest main, but a failure in chaos mode tells how to repeat it.
#include <cstdio>
#include <cstdlib>

#include <gtest/gtest.h>

namespace {

class seed_printer final : public testing::EmptyTestEventListener {
  void OnTestEnd(const testing::TestInfo& info) override {  // NOLINT: GoogleTest's name
    const char* seed = std::getenv("STARLING_CHAOS");
    if (seed == nullptr || !info.result()->Failed()) return;
    std::printf("repeat with STARLING_CHAOS=%s --gtest_filter=%s.%s\n", seed,
                info.test_suite_name(), info.name());
  }
};

}  // namespace

/// Read by ThreadSanitizer. The reference count of exceptions lies in libstdc++, which it does not
/// see into: an exception that one thread caught and another one frees looks like a race.
extern "C" const char* __tsan_default_suppressions() {  // NOLINT: the sanitizer's name
  return "race:std::logic_error::~logic_error\n"
         "race:std::runtime_error::~runtime_error\n"
         "race:std::__exception_ptr::exception_ptr::_M_release\n";
}

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  testing::UnitTest::GetInstance()->listeners().Append(new seed_printer);
  return RUN_ALL_TESTS();
}
