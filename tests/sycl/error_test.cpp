// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <cstddef>
#include <optional>
#include <stdexcept>
#include <string>

#include "failing_event.hpp"
#include "support.hpp"

namespace starling::sycl {
namespace {

/// The errors that futures of SYCL work report.
class sycl_future_errors : public testing::TestWithParam<const char*> {
 protected:
  sycl_future_errors() : m_runtime(options_for("host", GetParam())) {}

  [[nodiscard]] runtime& rt() { return m_runtime; }
  template <class Body>
  void run(Body body) {
    m_runtime.sync_wait(body());
  }

 private:
  runtime m_runtime;
};
INSTANTIATE_TEST_SUITE_P(completion_by, sycl_future_errors, testing::Values("event", "callback"),
                         [](const auto& info) { return std::string(info.param); });

const ::sycl::property_list in_order{::sycl::property::queue::in_order()};

::sycl::event submit_failure(::sycl::queue& work, const char* reason) {
  return work.submit([reason](::sycl::handler& h) {
    h.host_task([reason] { throw std::runtime_error(reason); });
  });
}

TEST_P(sycl_future_errors, come_from_host_tasks) {
  run([]() -> task<void> {
    const async_errors errors;
    ::sycl::queue work(::sycl::default_selector_v, errors, in_order);
    submit_failure(work, "the host task fell over");
    const std::string text = co_await error_of(get_future(work, errors));
    EXPECT_TRUE(contains(text, "fell over")) << text;
    co_await get_future(work, errors);  // reported once
  });
}

TEST_P(sycl_future_errors, come_from_single_events) {
  run([]() -> task<void> {
    const async_errors errors;
    ::sycl::queue work(::sycl::default_selector_v, errors);
    const ::sycl::event failed = submit_failure(work, "so did this one");
    const std::string text = co_await error_of(get_future(failed, errors));
    EXPECT_TRUE(contains(text, "so did this one")) << text;
  });
}

TEST_P(sycl_future_errors, of_one_queue_do_not_reach_another) {
  run([]() -> task<void> {
    for (int i = 0; i < 20; ++i) {
      executor good;
      executor bad;
      int value = 0;
      future<void> failed =
          bad.async([](::sycl::queue& q) { return submit_failure(q, "mine alone"); });
      co_await good.async(&::sycl::queue::memset, &value, 0, sizeof value);
      const std::string text = co_await error_of(std::move(failed));
      EXPECT_TRUE(contains(text, "mine alone")) << text;
    }
  });
}

TEST_P(sycl_future_errors, outlive_the_queue) {
  run([]() -> task<void> {
    gate before;
    std::optional<executor> bad(std::in_place);
    before.close(bad->queue());
    future<void> failed =
        bad->async([](::sycl::queue& q) { return submit_failure(q, "no waiter was there"); });
    bad.reset();
    before.open();
    const std::string text = co_await error_of(std::move(failed));
    EXPECT_TRUE(contains(text, "no waiter was there")) << text;
  });
}

TEST_P(sycl_future_errors, come_from_events_that_fail) {
  run([]() -> task<void> {
    ::sycl::queue work(in_order);
    failing_event source(work);
    future<void> of_source = get_future(source.get());
    int value = 0;
    future<void> behind = get_future(work.fill(&value, 1, 1, source.get()));
    for (int i = 0; i < 10; ++i) co_await yield();
    EXPECT_FALSE(of_source.is_ready());
    source.fail();
    EXPECT_NE(co_await error_of(std::move(of_source)), "");
    EXPECT_NE(co_await error_of(std::move(behind)), "");
    co_await get_future(work.fill(&value, 2, 1));  // the queue works
    EXPECT_EQ(value, 2);
  });
}

TEST_P(sycl_future_errors, come_from_host_tasks_that_sycl_drops) {
  run([]() -> task<void> {
    executor on;
    failing_event source(on.queue());
    future<void> dropped = on.async([&](::sycl::queue& q) {
      return q.submit([&](::sycl::handler& h) {
        h.depends_on(source.get());
        h.host_task([] { ADD_FAILURE() << "ran without its input"; });
      });
    });
    source.fail();
    EXPECT_NE(co_await error_of(std::move(dropped)), "");
  });
}

TEST_P(sycl_future_errors, do_not_come_from_exceptions_of_another_handler) {
  const auto refuse = [](const ::sycl::exception_list&) { throw std::logic_error("not here"); };
  ::sycl::queue other(::sycl::default_selector_v, refuse, in_order);
  run([&]() -> task<void> {
    executor on;
    int value = 0;
    co_await get_future(submit_failure(other, "of another"));
    co_await on.async(&::sycl::queue::memset, &value, 1, sizeof value);
    EXPECT_EQ(value, 0x01010101);
  });
  try {
    rt().wait_idle();
    ADD_FAILURE() << "the exception of the handler was lost";
  } catch (const std::logic_error& e) {
    EXPECT_STREQ(e.what(), "not here");
  }
}

/// Makes a gated event ready and waits until a task has seen its completion.
struct patient_handler {
  gate* before;
  std::atomic<bool>* seen;
  void operator()(const ::sycl::exception_list&) const {
    before->open();
    seen->wait(false);
  }
};

task<void> see(future<void> ready, std::atomic<bool>& seen) {
  co_await std::move(ready);
  seen = true;
  seen.notify_all();
}

TEST_P(sycl_future_errors, are_handled_while_other_work_is_still_polled_for) {
  run([]() -> task<void> {
    gate before;
    std::atomic<bool> seen{false};
    ::sycl::queue gated(in_order);
    before.close(gated);
    future<void> watcher = spawn(see(get_future(gated), seen));
    ::sycl::queue bad(::sycl::default_selector_v, patient_handler{&before, &seen}, in_order);
    co_await get_future(submit_failure(bad, "take your time"));
    executor on;
    int value = 0;
    co_await on.async(&::sycl::queue::memset, &value, 1, sizeof value);  // calls the handler
    EXPECT_TRUE(seen);
    co_await std::move(watcher);
  });
}

}  // namespace
}  // namespace starling::sycl
