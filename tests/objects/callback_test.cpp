// SPDX-License-Identifier: Apache-2.0
// Callbacks: their targets receive the result, however often a callback has been forwarded.
#include <stdexcept>

#include <gtest/gtest.h>

#include <starling/core.hpp>
#include <starling/objects.hpp>

#include "on_ranks.hpp"

namespace starling {
namespace {

class callbacks : public starling_test::on_ranks {};
INSTANTIATE_TEST_SUITE_P(on, callbacks, starling_test::some_ranks, starling_test::ranks_name);
/// Not between ranks: copies on other ranks are not counted, so a forgotten callback is a hang.
class callbacks_on_one_rank : public callbacks {};
INSTANTIATE_TEST_SUITE_P(on, callbacks_on_one_rank, starling_test::one_rank,
                         starling_test::ranks_name);

struct clerk : chare<clerk> {
  template <class Archive>
  void serialize(Archive& ar) {
    ar(m_taken, m_kept);
  }
  void take(int value) { m_taken.push_back(value); }
  void take_text(const std::string& text) { m_taken.push_back(int(text.size())); }
  void ring() { m_taken.push_back(-1); }
  task<> take_slowly(int value) {
    co_await yield();
    m_taken.push_back(value);
  }
  awaited mail(int value);
  task<int> sum_of_mail(int count) {
    int sum = 0;
    for (int i = 0; i < count; ++i) sum += co_await when<&clerk::mail>();
    co_return sum;
  }
  void answer(callback<int> to) { to.deliver(100 + this_index()); }
  void keep(callback<int> to) { m_kept = std::move(to); }
  void answer_kept() { std::exchange(m_kept, {}).deliver(200 + this_index()); }
  void forget() { m_kept = {}; }
  void refuse(callback<int> to) {
    to.fail(std::make_exception_ptr(std::out_of_range("no clerk free")));
  }
  /// Forwards the callback to the next element; the last element answers.
  void forward(int hops, callback<int> to) {
    if (hops == 0) return answer(to);
    const int next = (this_index() + 1) % this_array().extent().extent();
    this_array()[next].invoke<&clerk::forward>(hops - 1, std::move(to));
  }
  std::vector<int> taken() const { return m_taken; }

 private:
  std::vector<int> m_taken;
  callback<int> m_kept;
};

TEST_P(callbacks, without_a_target_are_harmless) {
  const auto clerks = create_array<clerk>(rt, 4, placement::round_robin);
  rt.sync_wait([](chare_array<clerk> all) -> task<> {
    all.invoke<&clerk::answer>(callback<int>());
    all.invoke<&clerk::refuse>(callback<int>());
    co_await quiescence();
    EXPECT_EQ((co_await all[0].call<&clerk::taken>()).size(), 0u);
  }(clerks));
}

TEST_P(callbacks, reach_entry_methods_of_every_kind) {
  const auto clerks = create_array<clerk>(rt, 4, placement::round_robin);
  rt.sync_wait([](chare_array<clerk> all) -> task<> {
    all[1].invoke<&clerk::answer>(all[3].to<&clerk::take, int>());
    all[1].invoke<&clerk::answer>(all[3].to<&clerk::take_slowly, int>());
    all[1].invoke<&clerk::answer>(all[3].to<&clerk::ring, int>());
    all[1].invoke<&clerk::answer>(all[2].to<&clerk::mail, int>());
    EXPECT_EQ(co_await all[2].call<&clerk::sum_of_mail>(1), 101);
    co_await quiescence();
    auto taken = co_await all[3].call<&clerk::taken>();
    std::sort(taken.begin(), taken.end());  // the order depends on timing
    EXPECT_EQ(taken, (std::vector<int>{-1, 101, 101}));
  }(clerks));
}

TEST_P(callbacks, reach_every_element_of_an_array_once) {
  const auto clerks = create_array<clerk>(rt, 30, placement::round_robin);
  rt.sync_wait([](chare_array<clerk> all) -> task<> {
    const auto everyone = all.to<&clerk::take, int>();
    for (int i = 0; i < 5; ++i) all[i].invoke<&clerk::answer>(everyone);
    co_await quiescence();
    for (int i = 0; i < 30; ++i) {
      auto taken = co_await all[i].call<&clerk::taken>();
      std::sort(taken.begin(), taken.end());
      EXPECT_EQ(taken, (std::vector<int>{100, 101, 102, 103, 104}));
    }
  }(clerks));
}

TEST_P(callbacks, travel_through_many_chares) {
  const auto clerks = create_array<clerk>(rt, 7, placement::round_robin);
  rt.sync_wait([](chare_array<clerk> all) -> task<> {
    auto [to, answer] = make_reply<int>();
    all[0].invoke<&clerk::forward>(1000, std::move(to));
    EXPECT_EQ(co_await std::move(answer), 100 + 1000 % 7);
  }(clerks));
}

TEST_P(callbacks, may_be_sent_by_a_thread_that_is_no_worker) {
  const auto clerks = create_array<clerk>(rt, 5, placement::round_robin);
  for (int i = 0; i < 5; ++i) {
    auto [to, answer] = make_reply<int>();
    clerks[i].invoke<&clerk::answer>(std::move(to));
    EXPECT_EQ(rt.sync_wait(std::move(answer)), 100 + i);
  }
}

TEST_P(callbacks, may_be_kept_and_answered_later) {
  const auto clerks = create_array<clerk>(rt, 4, placement::round_robin);
  rt.sync_wait([](chare_array<clerk> all) -> task<> {
    auto [to, answer] = make_reply<int>();
    all[2].invoke<&clerk::keep>(std::move(to));
    co_await quiescence();
    EXPECT_FALSE(answer.is_ready());
    all[2].invoke<&clerk::answer_kept>();
    EXPECT_EQ(co_await std::move(answer), 202);
  }(clerks));
}

TEST_P(callbacks_on_one_rank, that_are_dropped_break_their_promise) {
  const auto clerks = create_array<clerk>(rt, 4, placement::round_robin);
  auto [to, answer] = make_reply<int>();
  clerks[2].invoke<&clerk::keep>(std::move(to));
  clerks[2].invoke<&clerk::forget>();
  EXPECT_THROW(rt.sync_wait(std::move(answer)), broken_promise);
}

TEST_P(callbacks_on_one_rank, kept_by_a_chare_that_is_destroyed_break_their_promise) {
  const auto clerks = create_array<clerk>(rt, 4, placement::round_robin);
  auto [to, answer] = make_reply<int>();
  clerks[2].invoke<&clerk::keep>(std::move(to));
  clerks[2].destroy();
  EXPECT_THROW(rt.sync_wait(std::move(answer)), broken_promise);
}

TEST_P(callbacks, carry_errors_to_futures) {
  const auto clerks = create_array<clerk>(rt, 4, placement::round_robin);
  auto [to, answer] = make_reply<int>();
  clerks[1].invoke<&clerk::refuse>(std::move(to));
  EXPECT_THROW(rt.sync_wait(std::move(answer)), std::out_of_range);
}

TEST_P(callbacks, that_serve_one_result_refuse_the_second) {
  const auto clerks = create_array<clerk>(rt, 4, placement::round_robin);
  EXPECT_THROW(rt.sync_wait([](chare_array<clerk> all) -> task<> {
    auto [to, answer] = make_reply<int>();
    all[1].invoke<&clerk::answer>(to);
    EXPECT_EQ(co_await std::move(answer), 101);
    all[1].invoke<&clerk::answer>(to);
    promise<> never;
    co_await never.get_future();
  }(clerks)),
               usage_error);
}

TEST_P(callbacks, reach_elements_that_are_inserted_later) {
  const auto clerks = create_empty_array<clerk>(rt, 4, placement::round_robin);
  rt.sync_wait([](chare_array<clerk> all) -> task<> {
    all.insert(0);
    all[0].invoke<&clerk::answer>(all[3].to<&clerk::take, int>());
    co_await quiescence();
    all.insert(3);
    const auto taken = co_await all[3].call<&clerk::taken>();
    EXPECT_EQ(taken, std::vector<int>{100});
  }(clerks));
}

TEST_P(callbacks, convert_a_result_as_arguments_are_converted) {
  const auto clerks = create_array<clerk>(rt, 2, placement::round_robin);
  rt.sync_wait([](chare_array<clerk> all) -> task<> {
    all[1].to<&clerk::take_text, const char*>().deliver("four");
    all[1].to<&clerk::take, short>().deliver(short(7));
    co_await quiescence();
    const auto taken = co_await all[1].call<&clerk::taken>();
    EXPECT_EQ(taken, (std::vector<int>{4, 7}));
  }(clerks));
}

}  // namespace
}  // namespace starling
