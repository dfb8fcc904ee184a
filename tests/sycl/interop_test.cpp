// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <memory>
#include <numeric>
#include <vector>

#include <starling/core/when_all.hpp>

#include "support.hpp"

namespace starling::sycl {
namespace {

/// Futures of SYCL work in a runtime whose own streams are of the host backend.
class sycl_futures : public testing::TestWithParam<const char*> {
 protected:
  sycl_futures() : m_runtime(options_for("host", GetParam())) {}

  template <class Body>
  void run(Body body) {
    m_runtime.sync_wait(body());
  }

 private:
  runtime m_runtime;
};
INSTANTIATE_TEST_SUITE_P(completion_by, sycl_futures, testing::Values("event", "callback"),
                         [](const auto& info) { return std::string(info.param); });

const ::sycl::property_list in_order{::sycl::property::queue::in_order()};
constexpr std::size_t count = 1000;

std::vector<int> numbers() {
  std::vector<int> result(count);
  std::iota(result.begin(), result.end(), 1);
  return result;
}

TEST_P(sycl_futures, of_events_are_ready_when_the_work_is_complete) {
  run([]() -> task<void> {
    ::sycl::queue work;
    const std::vector<int> from = numbers();
    std::vector<int> to(count);
    co_await get_future(work.memcpy(to.data(), from.data(), count * sizeof(int)));
    EXPECT_EQ(to, from);
  });
}

TEST_P(sycl_futures, are_not_ready_before) {
  run([]() -> task<void> {
    ::sycl::queue work(in_order);
    gate before;
    before.close(work);
    future<void> done = get_future(work);
    for (int i = 0; i < 100; ++i) co_await yield();
    EXPECT_FALSE(done.is_ready());
    before.open();
    co_await std::move(done);
  });
}

TEST_P(sycl_futures, of_events_that_no_queue_returned_are_ready) {
  run([]() -> task<void> { co_await get_future(::sycl::event()); });
}

TEST_P(sycl_futures, of_in_order_queues_cover_all_earlier_work) {
  run([]() -> task<void> {
    ::sycl::queue work(in_order);
    std::vector<int> data(count);
    for (int i = 1; i <= 20; ++i) work.fill(data.data(), i, count);
    co_await get_future(work);
    EXPECT_EQ(data, std::vector<int>(count, 20));
    co_await get_future(work);  // no work since
  });
}

TEST_P(sycl_futures, of_out_of_order_queues_are_refused) {
  run([]() -> task<void> {
    try {
      static_cast<void>(get_future(::sycl::queue()));
      ADD_FAILURE() << "accepted";
    } catch (const usage_error& e) {
      EXPECT_TRUE(contains(e.what(), "in_order")) << e.what();
    }
    EXPECT_THROW(static_cast<void>(executor(::sycl::queue())), usage_error);
    co_return;
  });
}

TEST_P(sycl_futures, outlive_the_queue_that_works_for_them) {
  run([]() -> task<void> {
    std::vector<int> data(count);
    future<void> all;
    future<void> one;
    {
      ::sycl::queue work(in_order);
      one = get_future(work.fill(data.data(), 6, count));
      work.fill(data.data(), 7, count);
      all = get_future(work);
    }
    co_await std::move(all);
    co_await std::move(one);
    EXPECT_EQ(data, std::vector<int>(count, 7));
  });
}

TEST_P(sycl_futures, follow_events_of_any_context) {
  run([]() -> task<void> {
    const ::sycl::device device(::sycl::default_selector_v);
    const ::sycl::context other(device);
    ::sycl::queue work(other, device, in_order);
    std::vector<int> data(count);
    co_await get_future(work.fill(data.data(), 3, count));
    EXPECT_EQ(data.back(), 3);
    work.fill(data.data(), 4, count);
    co_await get_future(work);
    EXPECT_EQ(data.front(), 4);
  });
}

TEST_P(sycl_futures, may_be_many_and_may_be_dropped) {
  run([]() -> task<void> {
    std::vector<std::vector<int>> data(16, std::vector<int>(count));
    std::vector<future<void>> done;
    for (std::size_t i = 0; i < data.size(); ++i) {
      executor on;
      on.post([&](::sycl::queue& q) { q.fill(data[i].data(), int(i), count); });
      done.push_back(get_future(on.queue()));
      static_cast<void>(get_future(on.queue()));
    }
    co_await when_all(std::move(done));
    for (std::size_t i = 0; i < data.size(); ++i) EXPECT_EQ(data[i][count - 1], int(i));
  });
}

TEST_P(sycl_futures, come_and_go_with_nothing_in_flight_between) {
  run([]() -> task<void> {
    for (int i = 0; i < 50; ++i) {
      int value = 0;
      executor on;
      co_await on.async([&](::sycl::queue& q) { return q.fill(&value, i, 1); });
      EXPECT_EQ(value, i);
    }
  });
}

TEST_P(sycl_futures, come_from_member_functions_of_the_queue) {
  run([]() -> task<void> {
    executor on;
    const std::vector<int> from = numbers();
    std::vector<int> to(count);
    co_await on.async(&::sycl::queue::memcpy, to.data(), from.data(), count * sizeof(int));
    EXPECT_EQ(to, from);
    co_await on.async(&::sycl::queue::memset, to.data(), 0, count * sizeof(int));
    EXPECT_EQ(to, std::vector<int>(count, 0));
    co_await on.async([&](::sycl::queue& q) { return q.fill(to.data(), 5, count); });
    EXPECT_EQ(to, std::vector<int>(count, 5));
    const auto copy = [&](::sycl::handler& h) { h.memcpy(to.data(), from.data(), sizeof(int)); };
    co_await on.async(&::sycl::queue::submit<decltype(copy)>, copy);
    EXPECT_EQ(to[0], 1);
  });
}

TEST_P(sycl_futures, come_from_member_functions_with_the_place_of_the_call) {
  run([]() -> task<void> {
    executor on;
    int value = 1;
    using member = ::sycl::event (::sycl::queue::*)(void*, int, std::size_t,
                                                    const ::sycl::detail::code_location&);
    const member memset = &::sycl::queue::memset;
    co_await on.async(memset, static_cast<void*>(&value), 0, sizeof value,
                      ::sycl::detail::code_location::current());
    EXPECT_EQ(value, 0);
  });
}

TEST_P(sycl_futures, are_not_made_for_posted_work) {
  run([]() -> task<void> {
    executor on{::sycl::queue(in_order)};
    const std::vector<int> from = numbers();
    std::vector<int> to(count);
    on.post(&::sycl::queue::memset, to.data(), 1, count * sizeof(int));
    on.post(&::sycl::queue::memcpy, to.data(), from.data(), count * sizeof(int));
    on.post([&](::sycl::queue& q) { return q.fill(to.data(), 9, 1); });
    co_await on.async([](::sycl::queue&) {});  // submits nothing: waits for all earlier work
    EXPECT_EQ(to[0], 9);
    EXPECT_EQ(to[1], 2);
  });
}

TEST_P(sycl_futures, are_not_made_for_work_that_sycl_refuses) {
  run([]() -> task<void> {
    executor on;
    int value = 0;
    EXPECT_THROW(static_cast<void>(on.async(&::sycl::queue::memcpy, nullptr, &value, sizeof value)),
                 ::sycl::exception);
    co_await on.async(&::sycl::queue::memset, &value, 1, sizeof value);  // the queue still works
    EXPECT_EQ(value, 0x01010101);
  });
}

TEST(sycl_interop, outside_a_runtime_is_refused) {
  int value = 7;
  executor on;
  EXPECT_THROW(static_cast<void>(on.async(&::sycl::queue::memset, &value, 0, sizeof value)),
               usage_error);
  EXPECT_THROW(static_cast<void>(get_future(::sycl::event())), usage_error);
  on.queue().wait();
  EXPECT_EQ(value, 7) << "refused before it was submitted";
}

}  // namespace
}  // namespace starling::sycl
