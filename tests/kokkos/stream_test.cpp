// SPDX-License-Identifier: Apache-2.0
// Submission to a native stream, with a mock: Serial does the work, and the test decides when the
// stream has completed.
#include <memory>
#include <string>
#include <utility>

#include <starling/device.hpp>

#include "fixture.hpp"

namespace starling::kokkos {
namespace {

class native_streams : public with_kokkos {};
INSTANTIATE_TEST_SUITE_P(on, native_streams, worker_counts, worker_count_name);

/// Record of a mock stream.
struct stream_log {
  device* where = nullptr;
  promise<void> done;
  bool has_future = true;
  std::size_t memory_at_fence = 0;
  [[nodiscard]] std::size_t memory() const {
    return where->allocator(memory_kind::pinned).statistics().in_use;
  }
};
struct played_stream {
  stream_log* log;
  void fence() const { log->memory_at_fence = log->memory(); }
};

struct played_traits {
  static constexpr backend_kind family = backend_kind::host;
  using result_space = Kokkos::HostSpace;
  static inline const char* refusal = nullptr;
  static inline bool is_lost = false;
  static device& device_of(const played_stream& s, const char*) {
    if (s.log->where == nullptr) throw usage_error("no device of this runtime");
    return *s.log->where;
  }
  static const char* take_error() noexcept {
    return is_lost ? "lost" : std::exchange(refusal, nullptr);
  }
  static future<void> get_future(device&, const played_stream& s) {
    if (!s.log->has_future) throw out_of_memory("no room for a future");
    return s.log->done.get_future();
  }
};

template <class F>
using sum_work = detail::reduce_work<host_range, F, int>;

/// Returns the sum over 0 ≤ i < 11 of f, computed through the mock stream.
template <class F>
future<int> sum_on(stream_log& log, const F& f) {
  const played_stream stream{&log};
  return detail::run_on_stream<played_traits>(stream, sum_work<F>(host_range(0, 11), f), "async");
}

TEST_P(native_streams, keep_functor_and_result_until_the_work_is_complete) {
  run([]() -> task<void> {
    stream_log log{&devices(*runtime::current()).here(), {}};
    const std::size_t before = log.memory();
    auto token = std::make_shared<int>(2);
    const std::weak_ptr<int> alive = token;
    const auto twice = [held = std::move(token)](int i, int& update) { update += *held * i; };
    future<int> sum = sum_on(log, twice);
    EXPECT_EQ(alive.use_count(), 2);
    EXPECT_GT(log.memory(), before);
    log.done.set_value();
    EXPECT_EQ(co_await sum, 110);
    EXPECT_EQ(alive.use_count(), 1);
    EXPECT_EQ(log.memory(), before);
  });
}

TEST_P(native_streams, are_waited_for_when_there_is_no_future_of_a_kernel_under_way) {
  run([]() -> task<void> {
    stream_log log{&devices(*runtime::current()).here(), {}, false};
    const std::size_t before = log.memory();
    const auto add = [](int i, int& update) { update += i; };
    EXPECT_THROW(static_cast<void>(sum_on(log, add)), out_of_memory);
    EXPECT_GT(log.memory_at_fence, before) << "the kernel wrote to memory given back";
    EXPECT_EQ(log.memory(), before);
    co_return;
  });
}

TEST_P(native_streams, report_a_launch_that_the_device_refused) {
  run([]() -> task<void> {
    stream_log log{&devices(*runtime::current()).here(), {}};
    const auto refused = [](int, int&) { played_traits::refusal = "too many resources"; };
    try {
      static_cast<void>(sum_on(log, refused));
      ADD_FAILURE() << "accepted";
    } catch (const device_error& e) {
      EXPECT_NE(std::string(e.what()).find("too many resources"), std::string::npos) << e.what();
    }
    played_traits::refusal = "of an earlier call";
    const auto add = [](int i, int& update) { update += i; };
    future<int> sum = sum_on(log, add);
    log.done.set_value();
    EXPECT_EQ(co_await sum, 55);
  });
}

/// Kokkos would end the program at its next call.
TEST_P(native_streams, of_a_lost_device_get_no_work) {
  run([]() -> task<void> {
    stream_log log{&devices(*runtime::current()).here(), {}};
    bool has_run = false;
    const auto note = [&has_run](int, int&) { has_run = true; };
    played_traits::is_lost = true;
    EXPECT_THROW(static_cast<void>(sum_on(log, note)), device_error);
    played_traits::is_lost = false;
    EXPECT_FALSE(has_run);
    co_return;
  });
}

TEST_P(native_streams, of_another_device_get_no_work) {
  run([]() -> task<void> {
    stream_log nowhere;
    bool has_run = false;
    const auto note = [&has_run](int, int&) { has_run = true; };
    EXPECT_THROW(static_cast<void>(sum_on(nowhere, note)), usage_error);
    EXPECT_FALSE(has_run);
    EXPECT_THROW(static_cast<void>(detail::device_at("0000:ff:00.0", "async")), usage_error);
    co_return;
  });
}

}  // namespace
}  // namespace starling::kokkos
