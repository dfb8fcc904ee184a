// SPDX-License-Identifier: Apache-2.0
// Reductions that fail: each receiver of the result receives the error instead.
#include <stdexcept>

#include <gtest/gtest.h>

#include <starling/core.hpp>
#include <starling/objects.hpp>

#include "on_ranks.hpp"

namespace starling {
namespace {

using starling_test::message_of;

class failing_reductions : public starling_test::on_ranks {};
INSTANTIATE_TEST_SUITE_P(on, failing_reductions, starling_test::some_ranks,
                         starling_test::ranks_name);
/// Not between ranks: waiters for callbacks that other ranks have dropped are not notified.
class failing_reductions_on_one_rank : public failing_reductions {};
INSTANTIATE_TEST_SUITE_P(on, failing_reductions_on_one_rank, starling_test::one_rank,
                         starling_test::ranks_name);

struct refuse_sevens {
  int operator()(int a, int b) const {
    if (a == 7 || b == 7) throw std::domain_error("a seven");
    return a + b;
  }
};

struct contributor : chare<contributor> {
  void give(callback<int> to) { contribute(this_index(), refuse_sevens{}, to); }
  void give_one(callback<int> to) { contribute(1, reduction::sum{}, to); }
  task<bool> is_refused(int rounds) {
    int refused = 0;
    for (int r = 0; r < rounds; ++r) {
      try {
        co_await reduce(this_index(), refuse_sevens{});
      } catch (const std::domain_error&) {
        ++refused;
      }
    }
    co_return refused == rounds;
  }
  void give_another_operation(callback<int> to) {
    if (this_index() == 3)
      contribute(1, reduction::max{}, to);
    else
      contribute(1, reduction::sum{}, to);
  }
  void give_another_type(callback<int> to, callback<double> other) {
    if (this_index() == 3)
      contribute(1.0, reduction::sum{}, other);
    else
      contribute(1, reduction::sum{}, to);
  }
  /// In element order: a sum that fails, then a contribution of another type.
  void give_a_seven_or_another_type(callback<int> to, callback<double> other) {
    if (this_index() == 2)
      contribute(1.0, reduction::sum{}, other);
    else
      contribute(7, refuse_sevens{}, to);
  }
  void note(int) { ++m_noted; }
  int noted() const { return m_noted; }

 private:
  int m_noted = 0;
};

TEST_P(failing_reductions, give_the_exception_of_the_operation_to_the_future) {
  const auto all = create_array<contributor>(rt, 16, placement::round_robin);
  for (int repeat = 0; repeat < 5; ++repeat) {
    auto [to, sum] = make_reply<int>();
    all.invoke<&contributor::give>(to);
    EXPECT_THROW(rt.sync_wait(std::move(sum)), std::domain_error);
    auto [again, ones] = make_reply<int>();  // the next reduction is not affected
    all.invoke<&contributor::give_one>(again);
    EXPECT_EQ(rt.sync_wait(std::move(ones)), 16);
  }
}

TEST_P(failing_reductions, throw_in_every_awaiting_element) {
  const auto all = create_array<contributor>(rt, 16, placement::block);
  rt.sync_wait([](chare_array<contributor> a) -> task<> {
    std::vector<future<bool>> refused;
    for (int i = 0; i < 16; ++i) refused.push_back(a[i].call<&contributor::is_refused>(10));
    for (auto& each : refused) EXPECT_TRUE(co_await std::move(each));
  }(all));
}

TEST_P(failing_reductions, end_the_run_where_their_target_is_an_entry_method) {
  const auto all = create_array<contributor>(rt, 16, placement::round_robin);
  EXPECT_THROW(rt.sync_wait([](chare_array<contributor> a) -> task<> {
    a.invoke<&contributor::give>(a[0].to<&contributor::note, int>());
    promise<> never;
    co_await never.get_future();
  }(all)),
               std::domain_error);
  EXPECT_THROW(rt.sync_wait(all[0].call<&contributor::noted>()), broken_promise);
}

TEST_P(failing_reductions, name_two_operations_in_one) {
  const auto all = create_array<contributor>(rt, 8, placement::round_robin);
  auto [to, sum] = make_reply<int>();
  all.invoke<&contributor::give_another_operation>(to);
  const std::string text =
      message_of<usage_error>([&, &answer = sum] { rt.sync_wait(std::move(answer)); });
  EXPECT_NE(text.find("reduction::max"), std::string::npos) << text;
  EXPECT_NE(text.find("reduction::sum"), std::string::npos) << text;
}

TEST_P(failing_reductions_on_one_rank, of_two_types_fail_one_of_the_futures_and_break_the_other) {
  const auto all = create_array<contributor>(rt, 8, placement::round_robin);
  rt.sync_wait([](chare_array<contributor> a) -> task<> {
    auto [to, sum] = make_reply<int>();
    auto [other, other_sum] = make_reply<double>();
    a.invoke<&contributor::give_another_type>(std::move(to), std::move(other));
    int told = 0;
    int broken = 0;
    try {
      co_await std::move(sum);
    } catch (const usage_error&) {
      ++told;
    } catch (const broken_promise&) {
      ++broken;
    }
    try {
      co_await std::move(other_sum);
    } catch (const usage_error&) {
      ++told;
    } catch (const broken_promise&) {
      ++broken;
    }
    EXPECT_EQ(told, 1);
    EXPECT_EQ(broken, 1);
  }(all));
}

TEST(a_reduction_that_fails_twice, reports_the_first_error) {
  runtime rt(starling_test::options_with(1));  // one worker combines in the order of the messages
  const auto all = create_array<contributor>(rt, 3, placement::block);
  auto [to, sum] = make_reply<int>();
  auto [other, other_sum] = make_reply<double>();
  for (int i = 0; i < 3; ++i) all[i].invoke<&contributor::give_a_seven_or_another_type>(to, other);
  EXPECT_THROW(rt.sync_wait(std::move(sum)), std::domain_error);
}

}  // namespace
}  // namespace starling
