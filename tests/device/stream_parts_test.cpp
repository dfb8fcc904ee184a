// SPDX-License-Identifier: Apache-2.0
// The parts of a stream, without a queue that runs work.
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <starling/core/runtime.hpp>
#include <starling/device.hpp>

#include "device/host/host_event.hpp"
#include "device/stream_waiters.hpp"
#include "device/support.hpp"
#include "support/scarce_memory.hpp"

namespace starling {
namespace {

using starling_test::on_host;
using namespace starling::detail;
using numbers = std::vector<int>;

std::exception_ptr error(int number) { return std::make_exception_ptr(number); }
int number_of(const std::exception_ptr& e) {
  try {
    if (e) std::rethrow_exception(e);
    return 0;
  } catch (int number) {
    return number;
  }
}

/// Failures of a stream; the error of a stretch is its number.
struct failures_of_a_stream : testing::Test, stream_failures {
  void SetUp() override { open(); }
  void fail(int first, int last) {
    for (int i = first; i <= last; ++i) add(std::uint64_t(i), error(i));
  }
  int deliver_for(std::uint64_t after, std::uint64_t mark) {
    return number_of(deliver(node(after, mark)));
  }
  static completion_node node(std::uint64_t after, std::uint64_t mark) {
    completion_node n;
    n.sequence = mark;
    n.after = after;
    return n;
  }
  /// Takes the stale failures. Returns their errors, negative if they were delivered.
  numbers take_all(std::uint64_t released, const completion_node* waiters = nullptr) {
    numbers all;
    for (record r{}; take_stale(waiters, released, r); last_taken = r)
      all.push_back(r.observed ? -number_of(r.error) : number_of(r.error));
    return all;
  }
  record last_taken{};
};

TEST_F(failures_of_a_stream, are_delivered_oldest_first_and_again_only_for_their_own_mark) {
  fail(2, 5);
  for (const int expected : {3, 4, 4}) EXPECT_EQ(deliver_for(2, 4), expected);
  EXPECT_EQ(deliver_for(2, 3), 3);
  EXPECT_EQ(deliver_for(0, 1), 0);
  EXPECT_EQ(take_all(9), (numbers{2, -3, -4, 5}));
  EXPECT_TRUE(empty());
}

TEST_F(failures_of_a_stream, are_kept_after_delivery_for_the_latest_16_only) {
  numbers expected{1, 2};  // not delivered
  fail(1, 2);
  for (int i = 3; i <= 40; ++i) {
    fail(i, i);
    EXPECT_EQ(deliver_for(std::uint64_t(i - 1), std::uint64_t(i)), i);
    if (i > 40 - 16) expected.push_back(-i);
  }
  EXPECT_EQ(take_all(40), expected);
}

TEST_F(failures_of_a_stream, are_stale_when_released_and_out_of_reach_of_all_waiters) {
  fail(1, 5);
  completion_node later = node(2, 4);
  completion_node waiter = node(1, 2);
  waiter.next = &later;
  EXPECT_EQ(take_all(0), numbers{});
  EXPECT_EQ(take_all(4, &waiter), numbers{1}) << "2 … 4 have waiters, 5 has users";
  EXPECT_EQ(number_of(deliver(later)), 3);
  EXPECT_EQ(take_all(4, &waiter), numbers{-3}) << "not delivered again to a later mark";
  EXPECT_EQ(take_all(5), (numbers{2, 4, 5}));
}

TEST_F(failures_of_a_stream, are_merged_with_the_last_record_if_memory_is_exhausted) {
  const auto add_without_memory = [this](int first, int last) {
    for (int i = first; i <= last; ++i) {
      std::exception_ptr e = error(i);
      const no_memory now;
      add(std::uint64_t(i), std::move(e));
    }
  };
  add_without_memory(1, 100);
  const int merged = deliver_for(99, 100);
  EXPECT_GT(merged, 16);
  EXPECT_LT(merged, 100) << "recorded for an earlier stretch";
  EXPECT_EQ(deliver_for(99, 102), 0);
  add_without_memory(101, 101);
  EXPECT_EQ(deliver_for(99, 102), merged) << "the new failure is not delivered yet";
  EXPECT_EQ(take_all(100).size(), std::size_t(merged - 1)) << "the last has users until 101";
  EXPECT_EQ(take_all(101), numbers{-merged});
  EXPECT_EQ(last_taken.sequence, 101u);
}

/// Records the marks that it gets; runs nothing and listens to nothing.
class recording_queue final : public starling_test::idle_queue, public completion_listener {
 public:
  void mark(const completion_mark& request) override {
    if (refuses) throw device_error("refused");
    marks.push_back(request);
  }
  void reached(std::uint64_t) noexcept override {}
  void failed(std::uint64_t, std::exception_ptr) noexcept override {}
  void reached_next() noexcept override {}

  bool refuses = false;
  std::vector<completion_mark> marks;
};

struct marks_of_a_stream : testing::Test {
  std::uint64_t request(urgency when = urgency::now) { return marks.request(when, queue); }
  std::uint64_t request_for_work(urgency when = urgency::now) {
    marks.note_work();
    return request(when);
  }
  void pass_event(std::size_t i, const std::exception_ptr& e = nullptr) {
    ASSERT_NE(queue.marks.at(i).point, nullptr) << "not an event";
    static_cast<host_event&>(*queue.marks.at(i).point).pass(e);
  }
  stream_context context{nullptr, nullptr, nullptr, nullptr, {}, completion_kind::word, 0};
  completion_word word{0};
  recording_queue queue;
  stream_marks marks{context, queue, word};
};

TEST_F(marks_of_a_stream, are_requested_once_for_the_work_before_them) {
  EXPECT_EQ(request(), 0u) << "no work";
  queue.refuses = true;
  EXPECT_THROW(request_for_work(), device_error);
  EXPECT_EQ(marks.last(), 0u);
  queue.refuses = false;
  for (int twice = 0; twice < 2; ++twice) EXPECT_EQ(request(), 1u);
  EXPECT_EQ(request_for_work(), 2u);
  EXPECT_EQ(queue.marks.size(), 2u);
}

TEST_F(marks_of_a_stream, are_delayed_for_lazy_waiters_of_a_polled_device) {
  EXPECT_EQ(request_for_work(), 1u);
  for (int twice = 0; twice < 2; ++twice) EXPECT_EQ(request_for_work(urgency::lazy), 2u);
  EXPECT_EQ(queue.marks.size(), 1u);
  EXPECT_FALSE(marks.is_overdue());
  marks.pass(1);
  EXPECT_TRUE(marks.is_overdue());
  EXPECT_EQ(request(), 2u);
  EXPECT_EQ(queue.marks.size(), 2u);
  EXPECT_FALSE(marks.is_delayed());
  context.traits.notifies = true;
  EXPECT_EQ(request_for_work(urgency::lazy), 3u);
  EXPECT_FALSE(marks.is_delayed());
}

TEST_F(marks_of_a_stream, are_foreign_during_a_loan_and_until_its_last_one_is_passed) {
  marks.note_submitters(submitters::foreign_for_a_loan);
  for (const std::uint64_t i : {1, 2}) EXPECT_EQ(request(), i) << "there may be foreign work";
  marks.end_loan();
  EXPECT_EQ(request(), 2u);
  marks.pass(1);
  EXPECT_EQ(request_for_work(), 3u) << "with a word that 2 could overwrite";
  marks.pass(3);
  EXPECT_EQ(request_for_work(), 4u);
  marks.note_submitters(submitters::foreign);  // adopted
  marks.end_loan();
  EXPECT_EQ(request(), 5u);
  numbers foreign;
  for (const completion_mark& m : queue.marks) foreign.push_back(m.foreign);
  EXPECT_EQ(foreign, (numbers{1, 1, 1, 0, 1}));
}

TEST_F(marks_of_a_stream, are_events_passed_in_order_after_an_overdue_one) {
  runtime rt(on_host(1));
  context.owner = &devices(rt).device(0);
  EXPECT_EQ(request_for_work(urgency::lazy), 1u);
  EXPECT_EQ(request(urgency::overdue), 1u);
  for (const std::uint64_t i : {2, 3}) EXPECT_EQ(request_for_work(), i);
  pass_event(1);
  EXPECT_EQ(marks.query_events(), nullptr);
  EXPECT_EQ(marks.passed(), 0u);
  pass_event(0);
  EXPECT_EQ(marks.query_events(), nullptr);
  EXPECT_EQ(marks.passed(), 2u);
  const std::exception_ptr lost = error(1);
  pass_event(2, lost);
  EXPECT_EQ(marks.query_events(), lost);
  EXPECT_EQ(marks.passed(), 2u);
  for (const completion_mark& m : queue.marks) EXPECT_EQ(m.how, completion_kind::event);
  marks.pass(3);
  EXPECT_EQ(request_for_work(), 4u);
  EXPECT_EQ(queue.marks.back().how, completion_kind::word);
}

struct waiters_of_a_stream : marks_of_a_stream {
  using entry = stream_waiters::entry;
  struct waiter : completion_node {
    waiter(waiters_of_a_stream& test, char name) : in(test), letter(name) {
      notify = [](device_waiter& w) noexcept {
        auto& self = static_cast<waiter&>(w);
        self.in.told += self.letter;
        self.in.counts.push_back(int(self.in.waiters.count()));
      };
    }
    waiters_of_a_stream& in;
    char letter;
  };
  void SetUp() override { waiters.open(); }
  entry add(waiter& w, std::uint64_t mark) { return waiters.add(w, mark, marks); }

  stream_waiters waiters{context};
  ready_list ready;
  std::string told;  // letters of the notified waiters
  numbers counts;    // number of waiters at each notification
  waiter a{*this, 'a'}, b{*this, 'b'}, c{*this, 'c'}, d{*this, 'd'};
};

TEST_F(waiters_of_a_stream, are_over_if_their_mark_is_passed_and_else_make_the_poller_watch_once) {
  marks.pass(2);
  EXPECT_EQ(add(a, 2), entry::over);
  EXPECT_EQ(a.result, device_waiter::wait_status::over);
  EXPECT_EQ(add(b, 3), entry::to_watch);
  EXPECT_EQ(add(c, 4), entry::linked);
  EXPECT_TRUE(waiters.collect(3, ready));
  EXPECT_EQ(add(b, 4), entry::linked);
  EXPECT_FALSE(waiters.collect(4, ready));
  context.traits.notifies = true;
  EXPECT_EQ(add(d, 5), entry::linked);
  context.completion = completion_kind::event;
  EXPECT_EQ(add(a, 5), entry::to_watch);
}

TEST_F(waiters_of_a_stream, are_told_up_to_a_mark_in_the_order_of_marks_and_counted_until_then) {
  promise_base coroutine;
  d.waiting = &coroutine;
  for (auto [w, mark] : {std::pair{&c, 3}, {&a, 1}, {&d, 3}, {&b, 1}})
    static_cast<void>(add(*w, std::uint64_t(mark)));
  EXPECT_FALSE(waiters.complete(0));
  EXPECT_TRUE(waiters.complete(2));
  EXPECT_FALSE(waiters.complete(2));
  EXPECT_EQ(told, "ab");
  EXPECT_EQ(waiters.count(), 2u);
  static_cast<void>(add(a, 4));
  EXPECT_FALSE(waiters.collect(4, ready));
  EXPECT_EQ(ready.pop(), &coroutine);
  static_cast<void>(add(b, 5));  // into an empty list
  EXPECT_TRUE(waiters.complete(5));
  EXPECT_EQ(told, "abcab");
  EXPECT_EQ(counts, (numbers{4, 4, 0, 0, 1})) << "the poller counts them as over before";
}

TEST_F(waiters_of_a_stream, are_not_told_after_they_were_withdrawn) {
  for (const auto& [gone, expected] : {std::pair{&a, "bcd"}, {&b, "acd"}, {&c, "abd"}}) {
    for (waiter* w : {&a, &b, &c}) static_cast<void>(add(*w, w == &a ? 1 : 2));
    EXPECT_TRUE(waiters.withdraw(*gone));
    EXPECT_FALSE(waiters.withdraw(*gone));
    static_cast<void>(add(d, 3));
    EXPECT_TRUE(waiters.complete(3));
    EXPECT_EQ(std::exchange(told, ""), expected);
  }
  static_cast<void>(add(a, 1));
  EXPECT_TRUE(waiters.withdraw(a));
  EXPECT_EQ(waiters.count(), 0u);
  static_cast<void>(add(b, 1));
  EXPECT_TRUE(waiters.complete(1));
  EXPECT_EQ(told, "b");
}

TEST_F(waiters_of_a_stream, get_failures_of_their_users_and_the_runtime_gets_the_remainder) {
  runtime rt(on_host(1));
  context.home = &rt.get_executor().home();
  for (const int i : {1, 2}) waiters.fail(std::uint64_t(i), error(i));
  static_cast<void>(add(a, 1));
  EXPECT_TRUE(waiters.complete(1));
  EXPECT_EQ(number_of(a.error), 1);
  waiters.release(2);
  static_cast<void>(add(b, 3));
  EXPECT_TRUE(waiters.complete(3));
  EXPECT_EQ(b.error, nullptr);
  int reported = 0;
  try {
    rt.wait_idle();
  } catch (int number) {
    reported = number;
  }
  EXPECT_EQ(reported, 2) << "1 was delivered";
}

TEST_F(waiters_of_a_stream, are_all_over_when_the_device_is_lost) {
  waiters.lose(nullptr);
  static_cast<void>(add(a, 5));
  EXPECT_FALSE(waiters.complete(4));
  waiters.lose(error(7));
  EXPECT_FALSE(context.loss_told);
  EXPECT_TRUE(waiters.complete(0));
  EXPECT_EQ(number_of(a.error), 7);
  EXPECT_TRUE(context.loss_told);
  EXPECT_EQ(add(b, 6), entry::over);
  EXPECT_EQ(number_of(b.error), 7);
}

}  // namespace
}  // namespace starling
