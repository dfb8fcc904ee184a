// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <string>
#include <vector>

#include "failing_kernel.hpp"
#include "fixture.hpp"

namespace starling::contract {
namespace {

class failures : public device_contract {
 protected:
  void SetUp() override {
    device_contract::SetUp();
    if (!IsSkipped() && !kernels_throw()) GTEST_SKIP() << "kernels can throw on the host only";
  }
};
INSTANTIATE_TEST_SUITE_P(backends, failures, testing::ValuesIn(all_setups), name_of);

/// Returns the error's text, or an empty string.
template <class Awaitable>
task<std::string> error_of(Awaitable awaited) {
  try {
    co_await awaited;
  } catch (const device_error& e) {
    co_return e.what();
  }
  co_return "";
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST_P(failures, reach_the_waiter_with_kernel_stream_and_reason) {
  run([](device& d) -> task<void> {
    stream s = d.make_stream();
    s.submit(range{100}, fails_at{42});
    const std::string text = co_await error_of(s.completion());
    const std::string where = to_string(d.backend()) + std::string(" device 0");
    for (const char* part : {"fails_at", "index 42 is cursed", where.c_str(), "stream 0"})
      EXPECT_TRUE(contains(text, part)) << text;
  });
}

TEST_P(failures, skip_the_remaining_operations_of_the_batch_only) {
  run([](device& d) -> task<void> {
    auto a = shared_buffer<std::uint64_t>(d, 1, 0);
    stream s = d.make_stream();
    s.submit(range{1}, affine{a.data(), 1, 1});
    s.submit(range{1}, fails_at{0});
    s.submit(range{1}, affine{a.data(), 1, 10});
    future<void> failed = s.get_future();
    s.submit(range{1}, affine{a.data(), 1, 100});
    future<void> fine = s.get_future();
    EXPECT_TRUE(contains(co_await error_of(std::move(failed)), "cursed"));
    co_await fine;
    EXPECT_EQ(a.data()[0], 101u);
  });
}

TEST_P(failures, reach_every_waiter_of_the_batch) {
  run([](device& d) -> task<void> {
    stream s = d.make_stream();
    s.submit(range{100'000}, fails_at{99'999});  // large enough to be divided
    std::vector<future<std::string>> waiters;
    for (int i = 0; i < 10; ++i) waiters.push_back(spawn(error_of(s.get_future())));
    for (future<std::string>& f : waiters) EXPECT_TRUE(contains(co_await f, "cursed"));
    EXPECT_TRUE(contains(co_await error_of(s.completion()), "cursed")) << "the same stretch";
    s.submit(range{1}, fails_at{1});  // does not fail
    EXPECT_EQ(co_await error_of(s.completion()), "") << "seen already, and a new stretch";
  });
}

TEST_P(failures, without_a_waiter_reach_the_next_waiter) {
  run([](device& d) -> task<void> {
    stream s = d.make_stream();
    s.submit(range{1}, fails_at{0});
    while (!s.is_idle()) co_await yield();  // ends the stretch without waiting for it
    s.submit(range{1}, fails_at{1});        // does not fail
    EXPECT_TRUE(contains(co_await error_of(s.completion()), "cursed"));
    s.submit(range{1}, fails_at{1});
    EXPECT_EQ(co_await error_of(s.completion()), "");
  });
}

TEST_P(failures, travel_through_events) {
  run([](device& d) -> task<void> {
    auto a = shared_buffer<std::uint64_t>(d, 1, 0);
    stream bad = d.make_stream();
    stream good = d.make_stream();
    bad.submit(range{1}, fails_at{0});
    const event point = bad.record();
    good.wait(point);
    good.submit(range{1}, affine{a.data(), 1, 1});
    EXPECT_TRUE(contains(co_await error_of(good.completion()), "cursed"));
    EXPECT_EQ(a.data()[0], 0u) << "its input was never made";
    EXPECT_TRUE(contains(co_await error_of(bad.completion()), "cursed"));
    EXPECT_THROW(static_cast<void>(point.is_complete()), device_error);
  });
}

TEST_P(failures, do_not_travel_with_memory_that_is_used_again) {
  recycling_allocator& source = first().allocator(memory_kind::device);
  source.set_total_limit(source.statistics().in_use + 8192);
  run([](device& d) -> task<void> {
    auto a = shared_buffer<std::uint64_t>(d, 1, 0);
    stream bad = d.make_stream();
    stream good = d.make_stream();
    {
      auto memory = d.allocate<char>(memory_kind::device, 8192, bad);
      bad.submit(range{1}, fails_at{0});
    }
    auto same = d.allocate<char>(memory_kind::device, 8192, good);
    good.submit(range{1}, affine{a.data(), 1, 1});
    EXPECT_EQ(co_await error_of(good.completion()), "");
    EXPECT_EQ(a.data()[0], 1u);
    EXPECT_TRUE(contains(co_await error_of(bad.completion()), "cursed"));
  });
  EXPECT_EQ(source.statistics().cross_stream, 1u);
  source.set_total_limit(recycling_allocator::no_limit);
}

TEST_P(failures, of_abandoned_streams_are_reported_by_the_runtime) {
  {
    stream s = first().make_stream();
    s.submit(range{1}, fails_at{0});
  }
  try {
    rt().wait_idle();
    ADD_FAILURE() << "the error was lost";
  } catch (const device_error& e) {
    EXPECT_TRUE(contains(e.what(), "cursed")) << e.what();
  }
  run([](device& d) -> task<void> {  // the queue works for its next user
    stream s = d.make_stream();
    EXPECT_EQ(s.id(), stream_id{0});
    co_await s.completion();
  });
}

TEST_P(failures, of_one_borrower_of_a_pool_do_not_reach_the_next) {
  stream_pool pool(first(), 1);
  auto a = shared_buffer<std::uint64_t>(first(), 1, 0);
  {
    stream s = pool.acquire();
    s.submit(range{1}, fails_at{0});
  }
  stream s = pool.acquire();
  EXPECT_EQ(rt().sync_wait(error_of(s.completion())), "") << "no work of its own";
  s.submit(range{1}, affine{a.data(), 1, 1});
  EXPECT_EQ(rt().sync_wait(error_of(s.completion())), "");
  EXPECT_EQ(a.data()[0], 1u);
  try {
    rt().wait_idle();
    ADD_FAILURE() << "the error was lost";
  } catch (const device_error& e) {
    EXPECT_TRUE(contains(e.what(), "cursed")) << e.what();
  }
}

TEST_P(failures, reach_a_future_that_outlives_the_loan) {
  stream_pool pool(first(), 1);
  future<void> failed;
  {
    stream s = pool.acquire();
    s.submit(range{1}, fails_at{0});
    failed = s.get_future();
  }
  stream s = pool.acquire();
  EXPECT_EQ(rt().sync_wait(error_of(s.completion())), "");
  EXPECT_TRUE(contains(rt().sync_wait(error_of(std::move(failed))), "cursed"));
  rt().wait_idle();  // no error is left to report
}

TEST_P(failures, in_graphs_fail_the_launch_only) {
  run([](device& d) -> task<void> {
    stream s = d.make_stream();
    const graph g = s.capture([&] { s.submit(range{1}, fails_at{0}); });
    for (int i = 0; i < 3; ++i)
      EXPECT_TRUE(contains(co_await error_of(g.launch(s)), "cursed")) << i;
    s.submit(range{1}, fails_at{1});
    EXPECT_EQ(co_await error_of(s.completion()), "");
  });
}

}  // namespace
}  // namespace starling::contract
