// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <deque>
#include <exception>
#include <string>
#include <vector>

#include "device/sycl/sycl_report.hpp"
#include "failing_event.hpp"
#include "kernels.hpp"
#include "support.hpp"

namespace starling::sycl {
namespace {

/// Streams to which other code submits work, too, and streams that report completion by host tasks.
class sycl_host_tasks : public with_completion {};
INSTANTIATE_TEST_SUITE_P(completion_by, sycl_host_tasks,
                         testing::Values("word", "event", "callback", "block"),
                         [](const auto& info) { return std::string(info.param); });

TEST_P(sycl_host_tasks, that_wait_in_one_stream_do_not_hold_up_another) {
  run([](device& d) -> task<void> {
    stream held = d.make_stream();
    stream other = d.make_stream();
    gate before;
    before.close(*held.native<::sycl::queue*>());
    auto a = d.allocate<int>(memory_kind::pinned, 1);
    a.data()[0] = 1;
    other.native<::sycl::queue*>()->fill(a.data(), 2, 1);
    other.submit(range{1}, twice{a.data()});
    co_await other.completion();
    EXPECT_EQ(a.data()[0], 4);
    before.open();
    co_await held.completion();
  });
}

TEST_P(sycl_host_tasks, are_not_needed_by_borrowers_of_a_stream_whose_queue_was_given_out) {
  if (GetParam() == std::string("callback"))
    GTEST_SKIP() << "a host task reports the end of a stretch there";
  run([](device& d) -> task<void> {
    auto a = d.allocate<int>(memory_kind::pinned, 1);
    a.data()[0] = 1;
    stream_pool pool(d, 1);
    {
      stream s = pool.acquire();
      s.native<::sycl::queue*>()->fill(a.data(), 3, 1);
      co_await s.completion();
    }
    {
      // The end of the loan has submitted a host task, too, which could not run behind the gates.
      stream s = pool.acquire();
      while (!s.is_idle()) co_await yield();
    }
    std::deque<gate> gates(host_threads());
    std::deque<::sycl::queue> blocked;
    for (gate& g : gates) g.close(blocked.emplace_back());
    stream s = pool.acquire();
    s.submit(range{1}, twice{a.data()});
    co_await s.completion();
    EXPECT_EQ(a.data()[0], 6);
    for (gate& g : gates) g.open();
    for (::sycl::queue& q : blocked) q.wait();
  });
}

TEST_P(sycl_host_tasks, of_users_that_are_dropped_fail_their_batch_alone) {
  run([](device& d) -> task<void> {
    stream s = d.make_stream();
    auto a = d.allocate<int>(memory_kind::pinned, 1);
    a.data()[0] = 1;
    {
      failing_event input(*s.native<::sycl::queue*>());
      s.native<::sycl::queue*>()->submit([&](::sycl::handler& h) {
        h.depends_on(input.get());
        h.host_task([] { ADD_FAILURE() << "ran without its input"; });
      });
      input.fail();
    }
    EXPECT_NE(co_await error_of(s.get_future()), "");
    s.submit(range{1}, twice{a.data()});
    EXPECT_EQ(co_await error_of(s.get_future()), "");
    EXPECT_EQ(a.data()[0], 2);
  });
}

/// Records its calls.
class record_of_calls final : public starling::detail::completion_listener {
 public:
  void reached(std::uint64_t sequence) noexcept override {
    calls.push_back("reached " + std::to_string(sequence));
  }
  void failed(std::uint64_t sequence, std::exception_ptr error) noexcept override {
    calls.push_back("failed " + std::to_string(sequence));
    try {
      std::rethrow_exception(error);
    } catch (const device_error& e) {
      reason = e.what();
    }
  }
  std::vector<std::string> calls;
  std::string reason;

 private:
  void reached_next() noexcept override {}
};

TEST(sycl_reports, of_a_failed_batch_give_the_error_before_the_completion) {
  record_of_calls told;
  const async_errors errors;
  ::sycl::queue work(::sycl::default_selector_v, errors, ::sycl::property::queue::in_order());
  ::sycl::queue teller = starling::detail::make_teller(work.get_context(), work.get_device());
  {
    failing_event end(work);
    starling::detail::report_after(teller, end.get(), {&told, 7, true, errors, nullptr});
  }
  teller.wait();
  EXPECT_EQ(told.calls, (std::vector<std::string>{"failed 7", "reached 7"}));
  EXPECT_TRUE(contains(told.reason, "end of a stretch failed")) << told.reason;
  starling::detail::report_after(teller, ::sycl::event(), {&told, 8, true, errors, nullptr});
  teller.wait();
  EXPECT_EQ(told.calls.size(), 3u) << "the next stretch is none the worse";
  EXPECT_EQ(told.calls.back(), "reached 8");
}

}  // namespace
}  // namespace starling::sycl
