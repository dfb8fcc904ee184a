// SPDX-License-Identifier: Apache-2.0
// `when`, alone and joined: which message each wait receives.
#include <numeric>

#include <gtest/gtest.h>

#include <starling/core.hpp>
#include <starling/objects.hpp>

#include "on_ranks.hpp"

namespace starling {
namespace {

using starling_test::many;
using starling_test::message_of;

class sequencing : public starling_test::on_ranks {};
INSTANTIATE_TEST_SUITE_P(on, sequencing, starling_test::some_ranks, starling_test::ranks_name);

enum class colour : std::uint8_t { red, green };

struct desk : chare<desk> {
  awaited note(int number, int value);
  awaited memo(int number, std::string text);
  awaited stamp(colour which, std::unique_ptr<int> value);
  awaited bell();

  task<int> next_note() {
    const auto [number, value] = co_await when<&desk::note>();
    co_return 1000 * number + value;
  }
  task<int> note_of(int number) { co_return co_await when<&desk::note>(number); }
  task<int> notes_downwards(int from) {
    int wrong = 0;
    for (int i = from; i-- > 0;) wrong += co_await when<&desk::note>(i) != 2 * i;
    co_return wrong;
  }
  /// Takes a note and a memo of the same number, or neither.
  task<std::string> pair(int number) {
    auto [value, text] = co_await (when<&desk::note>(number) && when<&desk::memo>(number));
    co_return text + std::to_string(value);
  }
  task<int> two_notes_of(int number) {
    const auto [a, b] = co_await (when<&desk::note>(number) && when<&desk::note>(number));
    co_return 100 * a + b;
  }
  task<int> three_at_once() {
    const auto [a, b, c] =
        co_await (when<&desk::note>(3) && when<&desk::note>(1) && when<&desk::note>(2));
    co_return 100 * a + 10 * b + c;
  }
  task<int> note_or_bell(int number) {
    const auto got = co_await (when<&desk::note>(number) || when<&desk::bell>());
    co_return got.index() == 0 ? std::get<0>(got) : -1;
  }
  task<int> any_of_three() {
    const auto got = co_await (when<&desk::note>(1) || when<&desk::note>(2) || when<&desk::bell>());
    co_return int(got.index());
  }
  task<int> stamp_of(colour which) {
    const std::unique_ptr<int> value = co_await when<&desk::stamp>(which_number(which));
    co_return *value;
  }
  /// Takes notes while another coroutine of this chare takes memos.
  task<int> count_notes(int count) {
    int sum = 0;
    for (int i = 0; i < count; ++i) {
      const auto [number, value] = co_await when<&desk::note>();
      sum += value;
      if (i % 3 == 0) co_await yield();
    }
    co_return sum;
  }
  task<std::size_t> count_memos(int count) {
    std::size_t size = 0;
    for (int i = 0; i < count; ++i) size += (co_await when<&desk::memo>(i)).size();
    co_return size;
  }
  task<> note_for_ever() { co_await (when<&desk::note>(5) && when<&desk::bell>()); }
  task<> either_for_ever() { co_await (when<&desk::note>(5) || when<&desk::bell>()); }

 private:
  static int which_number(colour c) { return int(c); }
};

TEST_P(sequencing, takes_messages_that_arrived_before_the_wait) {
  const auto desks = create_array<desk>(rt, 2, placement::round_robin);
  rt.sync_wait([](element<desk> d) -> task<> {
    d.invoke<&desk::note>(7, 1);
    d.invoke<&desk::note>(8, 2);
    d.invoke<&desk::note>(7, 3);
    co_await quiescence();
    EXPECT_EQ(co_await d.call<&desk::note_of>(8), 2);
    EXPECT_EQ(co_await d.call<&desk::next_note>(), 7001);
    EXPECT_EQ(co_await d.call<&desk::note_of>(7), 3);
  }(desks[1]));
}

TEST_P(sequencing, finds_references_in_reverse_order_of_arrival) {
  const auto desks = create_array<desk>(rt, 2, placement::round_robin);
  const int count = many(2000, 200);
  rt.sync_wait([](element<desk> d, int count) -> task<> {
    for (int i = 0; i < count; ++i) d.invoke<&desk::note>(i, 2 * i);
    EXPECT_EQ(co_await d.call<&desk::notes_downwards>(count), 0);
    auto wrong = d.call<&desk::notes_downwards>(count);
    for (int i = 0; i < count; ++i) d.invoke<&desk::note>(i, 2 * i);
    EXPECT_EQ(co_await std::move(wrong), 0);
  }(desks[1], count));
}

TEST_P(sequencing, gives_a_reference_used_twice_to_two_waits_in_order) {
  const auto desks = create_array<desk>(rt, 2, placement::round_robin);
  rt.sync_wait([](element<desk> d) -> task<> {
    auto first = d.call<&desk::note_of>(4);
    auto second = d.call<&desk::note_of>(4);
    d.invoke<&desk::note>(4, 10);
    d.invoke<&desk::note>(4, 20);
    EXPECT_EQ(co_await std::move(first), 10);
    EXPECT_EQ(co_await std::move(second), 20);
    d.invoke<&desk::note>(4, 30);
    d.invoke<&desk::note>(4, 40);
    EXPECT_EQ(co_await d.call<&desk::two_notes_of>(4), 3040);
  }(desks[1]));
}

TEST_P(sequencing, takes_no_message_for_a_join_until_all_have_arrived) {
  const auto desks = create_array<desk>(rt, 2, placement::round_robin);
  rt.sync_wait([](element<desk> d) -> task<> {
    auto both = d.call<&desk::pair>(1);
    d.invoke<&desk::note>(1, 5);
    co_await quiescence();
    EXPECT_FALSE(both.is_ready());
    EXPECT_EQ(co_await d.call<&desk::note_of>(1), 5);  // it has not been taken
    d.invoke<&desk::memo>(1, "x");
    co_await quiescence();
    EXPECT_FALSE(both.is_ready());
    d.invoke<&desk::note>(1, 6);
    EXPECT_EQ(co_await std::move(both), "x6");
  }(desks[1]));
}

TEST_P(sequencing, joins_three_in_the_order_written) {
  const auto desks = create_array<desk>(rt, 2, placement::round_robin);
  rt.sync_wait([](element<desk> d) -> task<> {
    auto digits = d.call<&desk::three_at_once>();
    for (int i = 1; i <= 3; ++i) d.invoke<&desk::note>(i, i);
    EXPECT_EQ(co_await std::move(digits), 312);
  }(desks[1]));
}

TEST_P(sequencing, serves_competing_waits_in_the_order_of_their_start) {
  const auto desks = create_array<desk>(rt, 2, placement::round_robin);
  rt.sync_wait([](element<desk> d) -> task<> {
    std::vector<future<int>> waits;
    for (int i = 0; i < 20; ++i) waits.push_back(d.call<&desk::note_or_bell>(i % 2));
    d.invoke<&desk::note>(1, 100);  // for the second wait
    d.invoke<&desk::bell>();        // for the first wait
    d.invoke<&desk::bell>();        // for the third wait
    for (int i = 3; i < 20; ++i) d.invoke<&desk::note>(i % 2, i);
    EXPECT_EQ(co_await std::move(waits[0]), -1);
    EXPECT_EQ(co_await std::move(waits[1]), 100);
    EXPECT_EQ(co_await std::move(waits[2]), -1);
    for (std::size_t i = 3; i < 20; ++i) EXPECT_EQ(co_await std::move(waits[i]), int(i));
  }(desks[1]));
}

TEST_P(sequencing, prefers_the_alternative_written_first_when_several_messages_wait) {
  const auto desks = create_array<desk>(rt, 2, placement::round_robin);
  rt.sync_wait([](element<desk> d) -> task<> {
    d.invoke<&desk::bell>();
    d.invoke<&desk::note>(2, 0);
    d.invoke<&desk::note>(1, 0);
    EXPECT_EQ(co_await d.call<&desk::any_of_three>(), 0);
    EXPECT_EQ(co_await d.call<&desk::any_of_three>(), 1);
    EXPECT_EQ(co_await d.call<&desk::any_of_three>(), 2);
  }(desks[1]));
}

TEST_P(sequencing, moves_arguments_and_distinguishes_enumerators) {
  const auto desks = create_array<desk>(rt, 2, placement::round_robin);
  rt.sync_wait([](element<desk> d) -> task<> {
    d.invoke<&desk::stamp>(colour::green, std::make_unique<int>(2));
    d.invoke<&desk::stamp>(colour::red, std::make_unique<int>(1));
    EXPECT_EQ(co_await d.call<&desk::stamp_of>(colour::red), 1);
    EXPECT_EQ(co_await d.call<&desk::stamp_of>(colour::green), 2);
  }(desks[1]));
}

TEST_P(sequencing, serves_several_coroutines_of_one_chare) {
  const auto desks = create_array<desk>(rt, 3, placement::round_robin);
  const int count = many(300, 60);
  rt.sync_wait([](chare_array<desk> all, int count) -> task<> {
    std::vector<future<int>> notes;
    std::vector<future<std::size_t>> memos;
    for (int i = 0; i < 3; ++i) {
      notes.push_back(all[i].call<&desk::count_notes>(count));
      memos.push_back(all[i].call<&desk::count_memos>(count));
    }
    for (int i = count; i-- > 0;) {
      all.invoke<&desk::memo>(i, std::string(3, 'm'));
      all.invoke<&desk::note>(i, i);
    }
    for (auto& each : notes) EXPECT_EQ(co_await std::move(each), count * (count - 1) / 2);
    for (auto& each : memos) EXPECT_EQ(co_await std::move(each), 3 * std::size_t(count));
  }(desks, count));
}

TEST_P(sequencing, is_named_by_the_hang_diagnosis_with_all_awaited_messages) {
  const auto desks = create_array<desk>(rt, 2, placement::round_robin);
  desks[0].invoke<&desk::either_for_ever>();
  const std::string text =
      message_of<hang_error>([&] { rt.sync_wait(desks[1].call<&desk::note_for_ever>()); });
  EXPECT_NE(text.find("desk[1]: message note(5) and bell"), std::string::npos) << text;
  EXPECT_NE(text.find("desk[0]: message note(5) or bell"), std::string::npos) << text;
}

/// A stencil in one dimension: each step takes a message from either side; a neighbour may be
/// ahead.
struct point : chare<point> {
  awaited left(int step, double value);
  awaited right(int step, double value);
  explicit point(double value) : m_value(value * this_index()) {}
  task<double> run(int steps) {
    const int n = this_array().extent().extent();
    for (int s = 0; s < steps; ++s) {
      this_array()[(this_index() + 1) % n].invoke<&point::left>(s, m_value);
      this_array()[(this_index() + n - 1) % n].invoke<&point::right>(s, m_value);
      const auto [l, r] = co_await (when<&point::left>(s) && when<&point::right>(s));
      m_value = (l + r) / 2;
    }
    co_return m_value;
  }

 private:
  double m_value;
};

TEST_P(sequencing, of_a_stencil_gives_the_result_of_a_loop) {
  constexpr int n = 24;
  const int steps = many(200, 20);
  const auto line = create_array<point>(rt, n, placement::round_robin, 1.0);
  std::vector<double> now(n);
  std::iota(now.begin(), now.end(), 0.0);
  for (int s = 0; s < steps; ++s) {
    const std::vector<double> old = now;
    for (std::size_t i = 0; i < n; ++i) now[i] = (old[(i + n - 1) % n] + old[(i + 1) % n]) / 2;
  }
  rt.sync_wait([](chare_array<point> a, const std::vector<double>& expected, int steps) -> task<> {
    std::vector<future<double>> values;
    for (int i = 0; i < n; ++i) values.push_back(a[i].call<&point::run>(steps));
    for (std::size_t i = 0; i < n; ++i) EXPECT_EQ(co_await std::move(values[i]), expected[i]);
  }(line, now, steps));
}

}  // namespace
}  // namespace starling
