// SPDX-License-Identifier: Apache-2.0
// Sections: some elements of an array, which are sent to and reduced over like a whole array.
#include <algorithm>

#include <gtest/gtest.h>

#include <starling/core.hpp>
#include <starling/objects.hpp>

#include "names.hpp"
#include "on_ranks.hpp"

namespace starling {
namespace {

using starling_test::many;
using starling_test::message_of;
using starling_test::named;
using starling_test::numbers;

class sections : public starling_test::on_ranks {};
INSTANTIATE_TEST_SUITE_P(on, sections, starling_test::some_ranks, starling_test::ranks_name);

struct part : chare<part> {
  template <class Archive>
  void serialize(Archive& ar) {
    ar(m_noted);
  }
  void note(int number) { m_noted.push_back(number); }
  task<> note_slowly(int number) {
    co_await yield();
    m_noted.push_back(number);
  }
  std::vector<int> noted() const { return m_noted; }
  void name_in(const section<part>& over, callback<std::vector<int>> to) {
    contribute(over, std::vector<int>{this_index()}, reduction::concatenate{}, to);
  }
  void give(const section<part>& over, callback<int> to) {
    contribute(over, this_index(), reduction::sum{}, to);
  }
  void give_to_all(callback<int> to) { contribute(1, reduction::sum{}, to); }
  task<int> rounds(section<part> over, int count) {
    int sum = 0;
    for (int r = 0; r < count; ++r)
      sum += co_await reduce(over, this_index() + r, reduction::max{});
    co_return sum;
  }
  awaited token(int value);
  task<int> take_token() { co_return co_await when<&part::token>(); }

 private:
  std::vector<int> m_noted;
};

TEST_P(sections, reach_their_elements_only) {
  const auto all = create_array<part>(rt, 40, placement::round_robin);
  rt.sync_wait([](chare_array<part> a) -> task<> {
    const auto thirds = make_section(a, numbers(0, 40, 3));
    for (int i = 0; i < 10; ++i) thirds.invoke<&part::note>(i);
    for (int i = 10; i < 20; ++i) thirds.invoke<&part::note_slowly>(i);
    co_await quiescence();
    for (int i = 0; i < 40; ++i) {
      std::vector<int> noted = co_await a[i].call<&part::noted>();
      std::ranges::sort(noted);  // coroutines that yield may overtake each other
      EXPECT_EQ(noted, numbers(0, i % 3 == 0 ? 20 : 0)) << i;
    }
    EXPECT_EQ(co_await named(thirds), numbers(0, 40, 3));
  }(all));
}

TEST_P(sections, overlap_without_mixing_their_reductions) {
  const auto all = create_array<part>(rt, 60, placement::block);
  rt.sync_wait([](chare_array<part> a, int rounds) -> task<> {
    const auto by_two = make_section(a, numbers(0, 60, 2));
    const auto by_three = make_section(a, numbers(0, 60, 3));
    const auto everyone = make_section(a, numbers(0, 60));
    for (int i = 0; i < rounds; ++i) {
      auto [to_two, two] = make_reply<int>();
      auto [to_three, three] = make_reply<int>();
      auto [to_everyone, sum] = make_reply<int>();
      auto [to_all, count] = make_reply<int>();
      by_two.invoke<&part::give>(by_two, to_two);
      everyone.invoke<&part::give>(everyone, to_everyone);
      a.invoke<&part::give_to_all>(to_all);
      by_three.invoke<&part::give>(by_three, to_three);
      EXPECT_EQ(co_await std::move(three), 570);
      EXPECT_EQ(co_await std::move(two), 870);
      EXPECT_EQ(co_await std::move(count), 60);
      EXPECT_EQ(co_await std::move(sum), 1770);
      future<std::vector<int>> twos = spawn(named(by_two));
      EXPECT_EQ(co_await named(by_three), numbers(0, 60, 3));
      EXPECT_EQ(co_await std::move(twos), numbers(0, 60, 2));
    }
  }(all, many(50, 10)));
}

TEST_P(sections, of_one_element_and_of_all_behave_alike) {
  const auto all = create_array<part>(rt, 9, placement::round_robin);
  rt.sync_wait([](chare_array<part> a) -> task<> {
    for (int i = 0; i < 9; ++i) {
      const auto one = make_section(a, std::vector<int>{i});
      auto [to, index] = make_reply<int>();
      one.invoke<&part::give>(one, to);
      EXPECT_EQ(co_await std::move(index), i);
    }
    const auto everyone = make_section(a, numbers(0, 9));
    auto [to, sum] = make_reply<int>();
    everyone.invoke<&part::give>(everyone, to);
    EXPECT_EQ(co_await std::move(sum), 36);
    EXPECT_EQ(co_await named(everyone), numbers(0, 9));
  }(all));
}

TEST_P(sections, agree_in_many_awaited_rounds_at_once) {
  const auto all = create_array<part>(rt, 30, placement::round_robin);
  rt.sync_wait([](chare_array<part> a, int rounds) -> task<> {
    const auto low = make_section(a, numbers(0, 20, 2));
    const auto high = make_section(a, numbers(0, 30, 3));
    std::vector<future<int>> lows;
    std::vector<future<int>> highs;
    for (int i = 0; i < 20; i += 2) lows.push_back(a[i].call<&part::rounds>(low, rounds));
    for (int i = 0; i < 30; i += 3) highs.push_back(a[i].call<&part::rounds>(high, rounds));
    const int offsets = rounds * (rounds - 1) / 2;
    for (auto& each : lows) EXPECT_EQ(co_await std::move(each), 18 * rounds + offsets);
    for (auto& each : highs) EXPECT_EQ(co_await std::move(each), 27 * rounds + offsets);
  }(all, many(100, 10)));
}

TEST_P(sections, deliver_messages_that_are_awaited) {
  const auto all = create_array<part>(rt, 20, placement::block);
  rt.sync_wait([](chare_array<part> a) -> task<> {
    const auto some = make_section(a, numbers(0, 20, 4));
    std::vector<future<int>> tokens;
    for (int i = 0; i < 20; i += 4) tokens.push_back(a[i].call<&part::take_token>());
    some.invoke<&part::token>(17);
    for (auto& each : tokens) EXPECT_EQ(co_await std::move(each), 17);
  }(all));
}

TEST_P(sections, finish_their_operations_after_the_last_proxy_is_destroyed) {
  const auto all = create_array<part>(rt, 20, placement::round_robin);
  rt.sync_wait([](chare_array<part> a, int rounds) -> task<> {
    std::vector<future<int>> sums;
    std::vector<future<int>> agreed;
    for (int r = 0; r < rounds; ++r) {
      const auto some = make_section(a, numbers(0, 20, 1 + r % 5));
      auto [to, sum] = make_reply<int>();
      some.invoke<&part::give>(some, to);
      sums.push_back(std::move(sum));
      const auto one = make_section(a, std::vector<int>{r % 20});
      agreed.push_back(a[r % 20].call<&part::rounds>(one, 2));
    }
    for (int r = 0; r < rounds; ++r) {
      int expected = 0;
      for (const int i : numbers(0, 20, 1 + r % 5)) expected += i;
      EXPECT_EQ(co_await std::move(sums[std::size_t(r)]), expected);
      EXPECT_EQ(co_await std::move(agreed[std::size_t(r)]), 2 * (r % 20) + 1);
    }
  }(all, many(200, 40)));
}

TEST_P(sections, without_elements_send_no_messages) {
  const auto all = create_array<part>(rt, 4, placement::round_robin);
  rt.sync_wait([](chare_array<part> a) -> task<> {
    const auto none = make_section(a, std::vector<int>{});
    none.invoke<&part::note>(1);
    co_await quiescence();
    for (int i = 0; i < 4; ++i) EXPECT_TRUE((co_await a[i].call<&part::noted>()).empty());
  }(all));
}

TEST_P(sections, refuse_contributions_of_elements_outside) {
  const auto all = create_array<part>(rt, 10, placement::round_robin);
  const std::string text = message_of<entry_error>([&] {
    rt.sync_wait([](chare_array<part> a) -> task<> {
      const auto some = make_section(a, numbers(0, 10, 2));
      auto [to, sum] = make_reply<int>();
      a[3].invoke<&part::give>(some, to);
      co_await std::move(sum);
    }(all));
  });
  EXPECT_NE(text.find("part[3]"), std::string::npos) << text;
  EXPECT_NE(text.find("that does not contain it"), std::string::npos) << text;
}

TEST_P(sections, name_an_element_that_is_missing) {
  const auto all = create_array<part>(rt, 10, placement::round_robin);
  const std::string text = message_of<entry_error>([&] {
    rt.sync_wait([](chare_array<part> a) -> task<> {
      const auto some = make_section(a, numbers(0, 10, 2));
      a[4].destroy();
      some.invoke<&part::note>(1);
      promise<> never;
      co_await never.get_future();
    }(all));
  });
  EXPECT_NE(text.find("part[4]"), std::string::npos) << text;
  EXPECT_NE(text.find("note"), std::string::npos) << text;
}

struct cell : chare<cell, std::string> {
  template <class Archive>
  void serialize(Archive&) {}
  void give(const section<cell>& over, callback<std::string> to) {
    contribute(over, this_index(), reduction::max{}, to);
  }
};

TEST_P(sections, may_have_sparse_indices_and_elements_inserted_later) {
  const auto cells = create_sparse_array<cell>(rt);
  rt.sync_wait([](chare_array<cell> a) -> task<> {
    const std::vector<std::string> names{"wren", "owl", "tern"};
    const auto some = make_section(a, names);
    for (const std::string& name : names) a.insert(name);
    a.insert("zebra finch");
    auto [to, last] = make_reply<std::string>();
    some.invoke<&cell::give>(some, to);
    const std::string got = co_await std::move(last);
    EXPECT_EQ(got, "wren");
  }(cells));
}

}  // namespace
}  // namespace starling
