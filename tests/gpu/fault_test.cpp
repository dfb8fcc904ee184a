// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "fixture.hpp"

namespace starling::gpu_test {
namespace {

constexpr int told_everybody = 3;

// An address outside every device's memory.
int* const nobodys_memory = reinterpret_cast<int*>(std::uintptr_t(1) << 46);

/// Waits on a stream without errors; returns true when it gets the error of the fault all the same.
task<bool> neighbour(device& d, buffer<std::uint64_t>& a) {
  stream s = d.make_stream();
  try {
    // Until the fault arrives: any stretch may be the first to fail.
    for (;;) {
      s.submit(range{1}, affine{a.data(), 1, 1});
      co_await s.completion();
    }
  } catch (const device_error&) {
    co_return true;
  }
}

/// The same for a sequence of an aggregator.
task<bool> gathered_neighbour(aggregator& gathered, buffer<std::uint64_t>& a) {
  try {
    for (;;) co_await gathered.submit(range{1}, affine{a.data(), 1, 1});
  } catch (const device_error&) {
    co_return true;
  }
}

/// Returns true if an operation of `s` fails with a device_error.
task<bool> is_refused(stream& s, const char* label, int* address) {
  try {
    s.submit(range{1}, store_to_nowhere{address});
    co_await s.completion();
  } catch (const device_error& e) {
    std::fprintf(stderr, "%s: %s\n", label, e.what());
    co_return true;
  }
  co_return false;
}

/// Its first kernel faults; later operations must fail as well.
task<bool> culprit(device& d) {
  stream s = d.make_stream();
  const bool first = co_await is_refused(s, "told", nobodys_memory);
  const bool later = co_await is_refused(s, "told again", nobodys_memory);
  co_return first&& later;
}

/// Ends the process with `told_everybody` if all waiters got the error.
[[noreturn]] void meet_a_fault(const std::string& completion) {
  int code = EXIT_FAILURE;
  {
    runtime rt(cuda_options(completion));
    device& d = devices(rt).device(0);
    auto a = shared_buffer<std::uint64_t>(d, 1, 0);
    aggregator gathered(d, {.streams = 1});
    auto waiting = rt.spawn(neighbour(d, a));
    std::vector<future<bool>> together;
    for (int i = 0; i < 8; ++i) together.push_back(rt.spawn(gathered_neighbour(gathered, a)));
    const bool first = rt.sync_wait(culprit(d));
    bool rest = rt.sync_wait(std::move(waiting));
    for (future<bool>& f : together) rest = rt.sync_wait(std::move(f)) && rest;
    if (first && rest) code = told_everybody;
  }  // the runtime ends, too
  std::exit(code);
}

/// The fault destroys the context, so each case has a process of its own.
class cuda_fault : public gpu, public testing::WithParamInterface<const char*> {
 protected:
  void SetUp() override {
    if (device_count() == 0) GTEST_SKIP() << "no CUDA device here";
    GTEST_FLAG_SET(death_test_style, "threadsafe");
  }
  static std::size_t device_count() {
    try {
      runtime rt(cuda_options());
      return devices(rt).count();
    } catch (const backend_unavailable&) {
      return 0;
    }
  }
};

TEST_P(cuda_fault, reaches_every_awaiter_of_the_device_and_names_itself) {
  const std::string completion = GetParam();
  EXPECT_EXIT(meet_a_fault(completion), testing::ExitedWithCode(told_everybody),
              "told: .*cudaErrorIllegalAddress.*src/device/cuda/");
}

TEST_P(cuda_fault, not_caught_ends_the_program_with_its_message) {
  const std::string completion = GetParam();
  EXPECT_EXIT(
      {
        runtime rt(cuda_options(completion));
        try {
          rt.sync_wait([](device& d) -> task<void> {
            stream s = d.make_stream();
            s.submit(range{1}, store_to_nowhere{nobodys_memory});
            co_await s.completion();
          }(devices(rt).device(0)));
        } catch (const error& e) {
          std::fprintf(stderr, "error: %s\n", e.what());
          std::exit(EXIT_FAILURE);
        }
      },
      testing::ExitedWithCode(EXIT_FAILURE), "error: .*cudaErrorIllegalAddress");
}

TEST_P(cuda_fault, without_a_waiter_is_reported_at_the_end) {
  const std::string completion = GetParam();
  EXPECT_EXIT(
      {
        {
          runtime rt(cuda_options(completion));
          stream s = devices(rt).device(0).make_stream();
          s.submit(range{1}, store_to_nowhere{nobodys_memory});
        }
        std::exit(EXIT_SUCCESS);
      },
      testing::ExitedWithCode(EXIT_SUCCESS), "cudaErrorIllegalAddress");
}

TEST_P(cuda_fault, ends_queries_whether_the_stream_is_idle) {
  const std::string completion = GetParam();
  EXPECT_EXIT(
      {
        runtime rt(cuda_options(completion));
        stream s = devices(rt).device(0).make_stream();
        try {
          s.submit(range{1}, store_to_nowhere{nobodys_memory});
          while (!s.is_idle()) {
          }
        } catch (const device_error& e) {
          std::fprintf(stderr, "error: %s\n", e.what());
          std::exit(EXIT_FAILURE);
        }
      },
      testing::ExitedWithCode(EXIT_FAILURE), "error: .*cudaErrorIllegalAddress");
}

INSTANTIATE_TEST_SUITE_P(by, cuda_fault, testing::Values("word", "event", "callback", "block"),
                         [](const auto& p) { return std::string(p.param); });

}  // namespace
}  // namespace starling::gpu_test
