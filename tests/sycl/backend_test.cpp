// SPDX-License-Identifier: Apache-2.0
#include <stdexcept>
#include <string>
#include <vector>

#include <facts.hpp>

#include "kernels.hpp"
#include "support.hpp"

namespace starling::sycl {
namespace {

/// Errors that only this backend can have, and the queue behind a stream.
class sycl_streams : public with_completion {};
INSTANTIATE_TEST_SUITE_P(completion_by, sycl_streams,
                         testing::Values("word", "event", "callback", "block"),
                         [](const auto& info) { return std::string(info.param); });

void submit_failure(stream& s, const char* reason) {
  s.native<::sycl::queue*>()->submit([reason](::sycl::handler& h) {
    h.host_task([reason] { throw std::runtime_error(reason); });
  });
}

TEST_P(sycl_streams, let_their_queue_be_used_in_their_order) {
  run([](device& d) -> task<void> {
    stream s = d.make_stream();
    auto a = d.allocate<int>(memory_kind::pinned, 100);
    s.fill(a, 1);
    s.native<::sycl::queue*>()->fill(a.data(), 2, 50);
    s.submit(range{100}, twice{a.data()});
    co_await s.completion();
    EXPECT_EQ(a.data()[0], 4);
    EXPECT_EQ(a.data()[99], 2);
    EXPECT_TRUE(s.native<::sycl::queue*>()->is_in_order());
  });
}

TEST_P(sycl_streams, report_asynchronous_errors_to_waiters_of_the_batch) {
  run([](device& d) -> task<void> {
    stream good = d.make_stream();
    stream bad = d.make_stream();
    auto a = d.allocate<int>(memory_kind::pinned, 1);
    a.data()[0] = 1;
    submit_failure(bad, "no such luck");
    future<void> done = bad.get_future();
    good.submit(range{1}, twice{a.data()});
    co_await good.completion();  // of another stream
    const std::string text = co_await error_of(std::move(done));
    EXPECT_TRUE(contains(text, "no such luck")) << text;
    bad.submit(range{1}, twice{a.data()});
    co_await bad.completion();  // of another stretch
    EXPECT_EQ(a.data()[0], 4);
  });
}

/// Each attempt runs the SYCL compiler for seconds, and the way of completion does not affect it.
class sycl_kernels : public sycl_streams {};
INSTANTIATE_TEST_SUITE_P(completion_by, sycl_kernels, testing::Values("event"),
                         [](const auto& info) { return std::string(info.param); });

TEST_P(sycl_kernels, that_do_not_compile_are_refused_with_the_reason) {
  run([](device& d) -> task<void> {
    stream s = d.make_stream();
    auto a = d.allocate<int>(memory_kind::pinned, 1);
    a.data()[0] = 1;
    for (int i = 0; i < 2; ++i) try {
        s.submit(range{1}, host_only{a.data()});
        ADD_FAILURE() << "accepted";
      } catch (const device_error& e) {
        EXPECT_TRUE(contains(e.what(), "kernels_unfit.cpp")) << e.what();
        EXPECT_TRUE(contains(e.what(), "for processors only")) << e.what();
      }
    s.submit(range{1}, twice{a.data()});  // of another file
    co_await s.completion();
    EXPECT_EQ(a.data()[0], 2);
  });
}

TEST_P(sycl_streams, run_kernels_compiled_with_the_folders_and_definitions_of_their_program) {
  run([](device& d) -> task<void> {
    stream s = d.make_stream();
    auto a = d.allocate<int>(memory_kind::pinned, facts().size());
    s.submit(range{1}, list_facts{a.data()});
    co_await s.completion();
    const int expected[] = {5, 1, 7, sizeof "a: (b, c) \\ d"};
    for (std::size_t i = 0; i < facts().size(); ++i) EXPECT_EQ(a.data()[i], expected[i]);
  });
}

TEST_P(sycl_streams, refuse_kernels_without_a_name) {
  run([](device& d) -> task<void> {
    stream s = d.make_stream();
    try {
      submit_nameless(s);
      ADD_FAILURE() << "accepted";
    } catch (const usage_error& e) {
      EXPECT_TRUE(contains(e.what(), "unnamed namespace")) << e.what();
    }
    co_return;
  });
}

TEST_P(sycl_streams, refuse_groups_that_the_device_cannot_hold) {
  run([](device& d) -> task<void> {
    stream s = d.make_stream();
    auto a = d.allocate<int>(memory_kind::pinned, 1);
    a.data()[0] = 0;
    EXPECT_THROW(s.submit(range{1}, count_threads{a.data()}, {1 << 30, 0}), device_error);
    s.submit(range{1}, count_threads{a.data()}, {16, 64});
    co_await s.completion();
    EXPECT_EQ(a.data()[0], 16);
  });
}

TEST(sycl_devices, that_do_not_exist_are_refused) {
  for (const char* chosen : {"99", "0,99"}) {
    runtime_options options = options_for("sycl", "event");
    options.extra["devices"] = chosen;
    runtime rt(options);
    try {
      static_cast<void>(devices(rt));
      ADD_FAILURE() << chosen << " was accepted";
    } catch (const option_error& e) {
      EXPECT_TRUE(contains(e.what(), "SYCL device")) << e.what();
    }
  }
}

}  // namespace
}  // namespace starling::sycl
