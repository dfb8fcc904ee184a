// SPDX-License-Identifier: Apache-2.0
// The time of a device, divided among the accounts of elements. Events have the times that a test
// gives them.
#include "device/device_times.hpp"

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <starling/core/error.hpp>

#include "support.hpp"

namespace starling::detail {
namespace {

/// Returns share and elapsed time of each user in turn.
std::vector<double> divided(std::size_t users, std::vector<device_use> uses) {
  std::vector<double> numbers;
  for (const user_time& u : divide_time(users, uses)) {
    numbers.push_back(u.share_ns);
    numbers.push_back(u.elapsed_ns);
  }
  return numbers;
}
using ns = std::vector<double>;

TEST(divided_time, is_the_whole_time_of_intervals_that_do_not_overlap) {
  EXPECT_EQ(divided(2, {{0, 10, 20}, {1, 0, 5}, {0, 20, 21}}), (ns{11, 11, 5, 5}));
}

TEST(divided_time, is_equal_for_users_of_equal_intervals) {
  EXPECT_EQ(divided(3, {{0, 10, 40}, {1, 10, 40}, {2, 10, 40}}), (ns{10, 30, 10, 30, 10, 30}));
}

TEST(divided_time, is_divided_only_where_users_overlap) {
  EXPECT_EQ(divided(2, {{0, 0, 100}, {1, 20, 40}}), (ns{90, 100, 10, 20}));
  EXPECT_EQ(divided(3, {{0, 0, 30}, {1, 20, 50}, {2, 40, 60}}), (ns{25, 30, 20, 30, 15, 20}));
}

TEST(divided_time, counts_a_user_once_however_many_intervals_it_has) {
  EXPECT_EQ(divided(2, {{0, 0, 30}, {0, 10, 40}, {0, 0, 40}, {1, 0, 40}}), (ns{20, 40, 20, 40}));
}

TEST(divided_time, is_zero_for_empty_and_reversed_intervals) {
  EXPECT_EQ(divided(3, {{0, 10, 10}, {1, 30, 20}, {2, 0, 8}}), (ns{0, 0, 0, 0, 8, 8}));
  EXPECT_TRUE(divided(0, {}).empty());
}

/// An event whose time the test sets.
struct set_event : backend_event {
  [[nodiscard]] backend_kind kind() const noexcept override { return backend_kind::host; }
  [[nodiscard]] bool is_complete() override {
    ++queries;
    return passed;
  }
  [[nodiscard]] double nanoseconds_since(backend_event& earlier) override {
    if (fails) throw device_error("the device is lost");
    return at_ns - static_cast<set_event&>(earlier).at_ns;
  }
  bool passed = false;
  bool fails = false;
  double at_ns = 0;
  int queries = 0;
};

class times_of_a_device : public testing::Test {
 protected:
  struct work {
    std::shared_ptr<set_event> begin;
    std::shared_ptr<set_event> end;
    void starts(double ns) const { pass(*begin, ns); }
    void ends(double ns) const { pass(*end, ns); }
    static void pass(set_event& e, double ns) {
      e.at_ns = ns;
      e.passed = true;
    }
  };

  /// Queues one operation whose times are set later.
  work queue_on(stream_times& s, const charged_accounts& to) {
    const std::size_t first = events.size();
    s.begin(queue, to);
    s.end(queue);
    s.close();
    EXPECT_EQ(events.size(), first + 2);
    return {events[first], events[first + 1]};
  }
  void ran(stream_times& s, const charged_accounts& to, double begin_ns, double end_ns) {
    const work w = queue_on(s, to);
    w.starts(begin_ns);
    w.ends(end_ns);
  }

  std::shared_ptr<device_account> a = std::make_shared<device_account>();
  std::shared_ptr<device_account> b = std::make_shared<device_account>();
  std::vector<std::shared_ptr<set_event>> events;
  bool has_events = true;
  device_times times{"device 0", [this]() -> std::shared_ptr<backend_event> {
                       if (!has_events) return nullptr;
                       events.push_back(std::make_shared<set_event>());
                       return events.back();
                     }};
  starling_test::idle_queue queue;
  stream_times one{&times};
  stream_times two{&times};
};

TEST_F(times_of_a_device, are_charged_to_the_account_of_the_work) {
  ran(one, {a}, 1000, 1400);
  ran(one, {b}, 1500, 1600);
  ran(one, {a}, 1600, 1650);
  EXPECT_EQ(a->outstanding, 2u);
  times.settle();
  EXPECT_EQ(a->share_ns, 450u);
  EXPECT_EQ(a->elapsed_ns, 450u);
  EXPECT_EQ(b->share_ns, 100u);
  EXPECT_EQ(a->outstanding + b->outstanding, 0u);
}

TEST_F(times_of_a_device, are_divided_among_streams_that_run_at_the_same_time) {
  ran(one, {a}, 0, 100);
  ran(two, {b}, 60, 140);
  times.settle();
  EXPECT_EQ(a->share_ns, 80u);
  EXPECT_EQ(b->share_ns, 60u);
  EXPECT_EQ(a->elapsed_ns, 100u);
  EXPECT_EQ(b->elapsed_ns, 80u);
}

TEST_F(times_of_a_device, of_a_batch_are_divided_equally_among_its_members) {
  ran(one, {a, nullptr, b, nullptr}, 0, 400);
  EXPECT_EQ(b->outstanding, 1u);
  times.settle();
  EXPECT_EQ(a->share_ns, 100u);
  EXPECT_EQ(b->share_ns, 100u);
  EXPECT_EQ(b->elapsed_ns, 400u);
  EXPECT_EQ(b->outstanding, 0u);
}

TEST_F(times_of_a_device, of_a_batch_beside_other_work_are_equal_for_all_elements) {
  ran(one, {a, nullptr}, 0, 300);
  ran(two, {b}, 0, 300);
  times.settle();
  EXPECT_EQ(a->share_ns, 100u);
  EXPECT_EQ(b->share_ns, 100u);
}

TEST_F(times_of_a_device, of_an_element_do_not_depend_on_its_number_of_streams) {
  stream_times three{&times};
  ran(one, {a}, 0, 80);
  ran(two, {a}, 0, 100);
  ran(three, {b}, 0, 100);
  times.settle();
  EXPECT_EQ(a->share_ns, 50u);
  EXPECT_EQ(a->elapsed_ns, 100u);
  EXPECT_EQ(b->share_ns, 50u);
}

TEST_F(times_of_a_device, begin_once_where_a_backend_refuses_and_the_operations_follow) {
  one.begin(queue, {a, b});  // of a whole batch, which the backend does not run
  one.begin(queue, {a, b});
  one.end(queue);
  EXPECT_EQ(events.size(), 2u);
}

TEST_F(times_of_a_device, are_not_queried_at_each_submission_behind_long_work) {
  const work longest = queue_on(one, {a});
  longest.starts(0);
  for (int i = 0; i < 2000; ++i) {
    static_cast<void>(queue_on(one, {b}));
    times.settle_if_due();
  }
  int queries = 0;
  for (const auto& e : events) queries += e->queries;
  EXPECT_LT(queries, 50);
}

TEST_F(times_of_a_device, are_added_up_to_the_last_end_while_other_work_runs) {
  const work longest = queue_on(one, {a});
  longest.starts(0);
  ran(two, {b}, 20, 60);
  times.settle();
  EXPECT_EQ(a->share_ns, 40u) << "20 alone, 40 with the other";
  EXPECT_EQ(b->share_ns, 20u);
  EXPECT_EQ(a->outstanding, 1u);
  EXPECT_EQ(b->outstanding, 0u);
  times.settle();
  EXPECT_EQ(a->share_ns, 40u) << "nothing has ended since";
  longest.ends(100);
  times.settle();
  EXPECT_EQ(a->share_ns, 80u);
  EXPECT_EQ(a->elapsed_ns, 100u);
  EXPECT_EQ(a->outstanding, 0u);
}

TEST_F(times_of_a_device, wait_for_work_that_has_not_begun) {
  const work later = queue_on(one, {a});
  ran(two, {b}, 10, 20);
  times.settle();
  EXPECT_EQ(b->share_ns, 10u);
  EXPECT_EQ(a->share_ns, 0u);
  later.starts(30);
  later.ends(45);
  times.settle();
  EXPECT_EQ(a->share_ns, 15u);
}

TEST_F(times_of_a_device, that_end_in_another_order_than_they_were_submitted_are_all_added) {
  const work first = queue_on(one, {a});
  const work second = queue_on(two, {b});
  second.starts(0);
  second.ends(50);
  first.starts(50);
  first.ends(70);
  times.settle();
  EXPECT_EQ(a->share_ns, 20u);
  EXPECT_EQ(b->share_ns, 50u);
}

TEST_F(times_of_a_device, are_not_measured_for_work_of_no_element) {
  one.begin(queue, {});
  one.end(queue);
  one.close();
  EXPECT_TRUE(events.empty());
}

TEST_F(times_of_a_device, leave_nothing_behind_for_refused_work) {
  one.begin(queue, {a});
  EXPECT_EQ(a->outstanding, 1u);
  one.close();  // without end(): the operation was refused
  EXPECT_EQ(a->outstanding, 0u);
  times.settle();
  EXPECT_EQ(a->share_ns, 0u);
}

TEST_F(times_of_a_device, need_events_with_times) {
  has_events = false;
  one.begin(queue, {a});
  one.end(queue);
  one.close();
  times.settle();
  EXPECT_EQ(a->outstanding, 0u);
  EXPECT_EQ(a->share_ns, 0u);
}

TEST_F(times_of_a_device, end_with_a_message_when_the_device_is_lost) {
  ran(one, {a}, 0, 10);
  ran(two, {b}, 0, 10);
  events[1]->fails = true;
  testing::internal::CaptureStderr();
  times.settle();
  const std::string printed = testing::internal::GetCapturedStderr();
  EXPECT_NE(printed.find("no longer measured on device 0: the device is lost"), std::string::npos)
      << printed;
  EXPECT_EQ(a->outstanding + b->outstanding, 0u);
  const std::size_t before = events.size();
  one.begin(queue, {a});
  EXPECT_EQ(events.size(), before) << "nothing is measured afterwards";
}

TEST_F(times_of_a_device, are_settled_without_a_reader_when_much_work_is_outstanding) {
  std::uint64_t submitted = 0;
  for (int i = 0; i < 600; ++i, ++submitted) {
    ran(one, {a}, 10.0 * i, 10.0 * i + 5);
    times.settle_if_due();
  }
  EXPECT_GE(a->share_ns, 5u * 250u);
  EXPECT_LT(a->outstanding, 400u);
  times.settle_if_due();
  while (a->outstanding != 0) times.settle();
  EXPECT_EQ(a->share_ns, 5 * submitted);
}

TEST_F(times_of_a_device, that_a_destroyed_stream_has_left_are_dropped) {
  {
    stream_times gone{&times};
    const work w = queue_on(gone, {a});
    w.starts(0);
    gone.begin(queue, {b});
  }
  EXPECT_EQ(a->outstanding + b->outstanding, 0u);
  ran(one, {a}, 0, 10);
  times.settle();
  EXPECT_EQ(a->share_ns, 10u);
}

}  // namespace
}  // namespace starling::detail
