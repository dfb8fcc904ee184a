// SPDX-License-Identifier: Apache-2.0
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <starling/core.hpp>
#include <starling/objects.hpp>

#include "on_ranks.hpp"

namespace starling {
namespace {

using starling_test::on_ranks;
using starling_test::options_with;

class chares : public on_ranks {};
INSTANTIATE_TEST_SUITE_P(on, chares, starling_test::some_ranks, starling_test::ranks_name);

struct counter : chare<counter> {
  explicit counter(int start) : m_value(start + this_index()) {}
  void add(int n) { m_value += n; }
  int value() const { return m_value; }
  task<int> value_later() {
    co_await yield();
    co_return m_value;
  }
  void fail() { throw std::runtime_error("out of counters"); }
  int refuse() { throw std::runtime_error("no value"); }

 private:
  int m_value;
};

TEST_P(chares, take_messages_in_the_order_sent) {
  const auto counters = create_array<counter>(rt, 10, placement::block, 100);
  EXPECT_EQ(rt.sync_wait([](chare_array<counter> all) -> task<int> {
    for (int i = 0; i < 10; ++i) all[i].invoke<&counter::add>(i);
    int sum = 0;
    for (int i = 0; i < 10; ++i) sum += co_await all[i].call<&counter::value>();
    for (int i = 0; i < 10; ++i) sum += co_await all[i].call<&counter::value_later>();
    co_return sum;
  }(counters)),
            2 * (1000 + 45 + 45));
}

TEST_P(chares, give_errors_to_their_awaiters) {
  const auto counters = create_array<counter>(rt, 4, placement::round_robin, 0);
  EXPECT_THROW(rt.sync_wait(counters[3].call<&counter::refuse>()), std::runtime_error);
}

TEST_P(chares, end_the_run_with_unawaited_errors) {
  const auto counters = create_array<counter>(rt, 4, placement::round_robin, 0);
  const std::string text = starling_test::message_of<entry_error>([&] {
    rt.sync_wait([](chare_array<counter> all) -> task<> {
      all[2].invoke<&counter::fail>();
      promise<> never;
      co_await never.get_future();
    }(counters));
  });
  EXPECT_NE(text.find("counter[2].fail: out of counters (the chare is defined at "),
            std::string::npos)
      << text;
}

struct stepper : chare<stepper> {
  awaited halo(int step, int value);
  task<int> run(int steps) {
    int sum = 0;
    for (int s = 0; s < steps; ++s) sum += co_await when<&stepper::halo>(s);
    co_return sum;
  }
};

TEST_P(chares, await_messages_by_reference_in_any_order_of_arrival) {
  const auto steppers = create_array<stepper>(rt, 2, placement::round_robin);
  EXPECT_EQ(rt.sync_wait([](chare_array<stepper> all) -> task<int> {
    auto sum = all[1].call<&stepper::run>(100);
    for (int s = 100; s-- > 0;) all[1].invoke<&stepper::halo>(s, s * s);
    co_return co_await std::move(sum);
  }(steppers)),
            328350);
}

struct member : chare<member, index3> {
  void add_up(const section<member>& over, callback<int> to) {
    contribute(over, this_index().x + 1, reduction::sum{}, to);
  }
  task<> agree(section<member> over, int rounds) {
    for (int i = 0; i < rounds; ++i)
      m_most = std::max(m_most, co_await reduce(over, this_index().y, reduction::max{}));
  }
  int most() const { return m_most; }
  int m_most = 0;
};

TEST_P(chares, of_a_section_are_sent_to_and_reduced_over) {
  const auto all = create_array<member>(rt, index3{3, 4, 2}, placement::round_robin);
  rt.sync_wait([](chare_array<member> a) -> task<> {
    const auto some = make_section(a, {{0, 1, 0}, {1, 3, 1}, {2, 2, 0}});
    const auto others = make_section(a, {{0, 1, 0}, {2, 0, 1}});
    for (int i = 0; i < 5; ++i) {
      auto [to, sum] = make_reply<int>();
      auto [to_other, other] = make_reply<int>();
      some.invoke<&member::add_up>(some, to);
      others.invoke<&member::add_up>(others, to_other);
      EXPECT_EQ(co_await std::move(sum), 6);
      EXPECT_EQ(co_await std::move(other), 4);
    }
    some.invoke<&member::agree>(some, 10);
    co_await quiescence();
    EXPECT_EQ((co_await a[{0, 1, 0}].call<&member::most>()), 3);
    EXPECT_EQ((co_await a[{1, 1, 1}].call<&member::most>()), 0);
    EXPECT_THROW(static_cast<void>(make_section(a, {{0, 0, 0}, {0, 0, 0}})), usage_error);
    EXPECT_THROW(static_cast<void>(make_section(a, {{3, 0, 0}})), usage_error);
  }(all));
}

struct sequencer : chare<sequencer> {
  awaited left(int step, int value);
  awaited right(int step, int value);
  awaited stop();
  task<int> both(int steps) {
    int sum = 0;
    for (int s = 0; s < steps; ++s) {
      const auto [l, r] = co_await (when<&sequencer::left>(s) && when<&sequencer::right>(s));
      sum += l - r;
    }
    co_return sum;
  }
  task<int> either() {
    int taken = 0;
    for (bool stopped = false; !stopped;) {
      const auto got = co_await (when<&sequencer::left>(taken) || when<&sequencer::stop>());
      stopped = got.index() == 1;
      if (!stopped) taken += std::get<0>(got);
    }
    co_return taken;
  }
  task<> wait_for_ever() { co_await when<&sequencer::right>(3); }
};

TEST_P(chares, await_several_messages_or_one_of_several) {
  const auto all = create_array<sequencer>(rt, 2, placement::round_robin);
  rt.sync_wait([](element<sequencer> e) -> task<> {
    auto sum = e.call<&sequencer::both>(20);
    for (int s = 20; s-- > 0;) e.invoke<&sequencer::left>(s, 3 * s);
    for (int s = 0; s < 20; ++s) e.invoke<&sequencer::right>(s, s);
    EXPECT_EQ(co_await std::move(sum), 2 * 190);
    auto taken = e.call<&sequencer::either>();
    for (int s = 0; s < 20; ++s) e.invoke<&sequencer::left>(s, 1);
    e.invoke<&sequencer::stop>();
    EXPECT_EQ(co_await std::move(taken), 20);
  }(all[1]));
}

TEST_P(chares, that_wait_for_ever_are_named_by_the_hang_diagnosis) {
  const auto all = create_array<sequencer>(rt, 2, placement::round_robin);
  const std::string text = starling_test::message_of<hang_error>(
      [&] { rt.sync_wait(all[1].call<&sequencer::wait_for_ever>()); });
  EXPECT_NE(text.find("sequencer[1]: message right(3)"), std::string::npos) << text;
}

struct flood : chare<flood> {
  void spread(int left) {
    ++m_seen;
    if (left == 0) return;
    const int n = this_array().extent().extent();
    this_array()[(this_index() * 7 + 1) % n].invoke<&flood::spread>(left - 1);
    this_array()[(this_index() * 3 + 2) % n].invoke<&flood::spread>(left - 1);
  }
  int seen() const { return m_seen; }

 private:
  int m_seen = 0;
};

TEST_P(chares, are_quiescent_when_no_message_is_left) {
  const auto all = create_array<flood>(rt, 13, placement::round_robin);
  EXPECT_EQ(rt.sync_wait([](chare_array<flood> a) -> task<int> {
    a[0].invoke<&flood::spread>(11);
    co_await quiescence();
    int sum = 0;
    for (int i = 0; i < 13; ++i) sum += co_await a[i].call<&flood::seen>();
    co_return sum;
  }(all)),
            (1 << 12) - 1);
}

struct word : chare<word, std::string> {
  explicit word(int count) : m_count(count) {}
  void add(int n) { m_count += n; }
  int count() const { return m_count; }

 private:
  int m_count;
};

TEST_P(chares, of_sparse_arrays_are_inserted_and_deleted) {
  const auto words = create_sparse_array<word>(rt);
  rt.sync_wait([](chare_array<word> all) -> task<> {
    all["early"].invoke<&word::add>(5);
    all.insert("early", 1);
    all.insert("late", 2);
    EXPECT_EQ(co_await all["early"].call<&word::count>(), 6);
    all.done_inserting();
    all.invoke<&word::add>(1);
    EXPECT_EQ(co_await all["late"].call<&word::count>(), 3);
    all["late"].destroy();
    bool missing = false;
    try {
      static_cast<void>(co_await all["late"].call<&word::count>());
    } catch (const no_such_element& e) {
      missing = std::string(e.what()).find("word[late].count") != std::string::npos;
    }
    EXPECT_TRUE(missing);
  }(words));
}

struct voter : chare<voter, index2> {
  awaited go(double scale);
  void vote(callback<double> to) { contribute(1.0 + this_index().x, reduction::sum{}, to); }
  void note(double total) { m_total = total; }
  double total() const { return m_total; }
  task<double> rounds(int n) {
    double scale = co_await when<&voter::go>();
    for (int i = 0; i < n; ++i) scale = co_await reduce(scale + this_index().y, reduction::max{});
    co_return scale;
  }

 private:
  double m_total = 0.0;
};

TEST_P(chares, reduce_to_a_future_an_element_or_all) {
  const auto voters = create_array<voter>(rt, index2{4, 25}, placement::block);
  rt.sync_wait([](chare_array<voter> all) -> task<> {
    auto [to, answer] = make_reply<double>();
    all.invoke<&voter::vote>(to);
    EXPECT_EQ(co_await std::move(answer), 250.0);
    all.invoke<&voter::vote>(all.to<&voter::note, double>());
    all.invoke<&voter::vote>(all[{1, 1}].to<&voter::note, double>());
    auto [last, done] = make_reply<double>();
    all.invoke<&voter::vote>(last);
    co_await std::move(done);
    EXPECT_EQ((co_await all[{1, 1}].call<&voter::total>()), 250.0);
  }(voters));
}

TEST_P(chares, take_part_in_rounds_of_awaited_reductions) {
  const auto voters = create_array<voter>(rt, index2{4, 5}, placement::round_robin);
  rt.sync_wait([](chare_array<voter> all) -> task<> {
    std::vector<future<double>> results;
    for (int x = 0; x < 4; ++x)
      for (int y = 0; y < 5; ++y) results.push_back(all[{x, y}].call<&voter::rounds>(50));
    all.invoke<&voter::go>(1.0);
    for (future<double>& r : results) EXPECT_EQ(co_await std::move(r), 1.0 + 50 * 4);
  }(voters));
}

TEST_P(chares, cannot_give_one_reply_two_results) {
  const auto voters = create_array<voter>(rt, index2{2, 2}, placement::round_robin);
  EXPECT_THROW(rt.sync_wait([](chare_array<voter> all) -> task<> {
    auto [to, answer] = make_reply<double>();
    all.invoke<&voter::vote>(to);
    all.invoke<&voter::vote>(to);
    promise<> never;
    co_await never.get_future();
  }(voters)),
               usage_error);
}

TEST_P(chares, with_unawaited_coroutines_are_named_by_the_hang_diagnosis_too) {
  const auto all = create_array<sequencer>(rt, 2, placement::round_robin);
  all[1].invoke<&sequencer::wait_for_ever>();
  const std::string text = starling_test::message_of<hang_error>([&] {
    rt.sync_wait([]() -> task<> {
      promise<> never;
      co_await never.get_future();
    }());
  });
  EXPECT_NE(text.find("sequencer[1]: message right(3)"), std::string::npos) << text;
}

struct chooser : chare<chooser> {
  awaited note(int number, int value);
  task<int> both() {
    const auto [any, fifth] = co_await (when<&chooser::note>() && when<&chooser::note>(5));
    co_return 100 * std::get<0>(any) + fifth;
  }
};

TEST_P(chares, leave_a_message_to_the_wait_that_requires_it) {
  const auto all = create_array<chooser>(rt, 2, placement::round_robin);
  EXPECT_EQ(rt.sync_wait([](element<chooser> e) -> task<int> {
    e.invoke<&chooser::note>(5, 1);
    e.invoke<&chooser::note>(7, 2);
    co_return co_await e.call<&chooser::both>();
  }(all[1])),
            701);
}

struct overlapper : chare<overlapper> {
  awaited ping(int n);
  awaited pong(int n);
  task<int> pings(int count) {
    int sum = 0;
    for (int i = 0; i < count; ++i) sum += co_await when<&overlapper::ping>();
    co_return sum;
  }
  task<> pongs(int count) {
    for (int i = 0; i < count; ++i) co_await when<&overlapper::pong>(i);
  }
  task<int> both(int count) {
    const auto [sum, nothing] = co_await overlap(pings(count), pongs(count));
    co_return sum;
  }
};

TEST_P(chares, overlap_waits_for_different_messages) {
  const auto all = create_array<overlapper>(rt, 2, placement::round_robin);
  EXPECT_EQ(rt.sync_wait([](element<overlapper> e) -> task<int> {
    auto sum = e.call<&overlapper::both>(10);
    for (int i = 0; i < 10; ++i) e.invoke<&overlapper::pong>(9 - i);
    for (int i = 0; i < 10; ++i) e.invoke<&overlapper::ping>(i);
    co_return co_await std::move(sum);
  }(all[1])),
            45);
}

struct reader : chare<reader> {
  explicit reader(read_only<std::vector<int>> data) : m_data(data) {}
  int read() const { return (*m_data)[std::size_t(this_index())]; }

 private:
  read_only<std::vector<int>> m_data;
};

TEST_P(chares, share_read_only_values) {
  const auto data = make_read_only(rt, std::vector<int>{3, 1, 4, 1, 5});
  const auto all = create_array<reader>(rt, 5, placement::round_robin, data);
  EXPECT_EQ(rt.sync_wait(all[4].call<&reader::read>()), 5);
  EXPECT_EQ(data->size(), 5U);
  const auto of_rank = create_rank_group<reader>(rt, data);
  EXPECT_EQ(rt.sync_wait(of_rank[0].call<&reader::read>()), 3);
}

TEST(messages_left_over, are_named_when_the_runtime_ends) {
  testing::internal::CaptureStderr();
  {
    runtime rt(options_with(2));
    const auto all = create_array<stepper>(rt, 2, placement::round_robin);
    all[1].invoke<&stepper::halo>(3, 4);
    create_sparse_array<word>(rt)["none"].invoke<&word::add>(1);
    rt.wait_idle();
  }
  EXPECT_EQ(
      testing::internal::GetCapturedStderr(),
      "starling: messages left over, 2: stepper[1].halo(3), 1 to elements of word that were never "
      "inserted\n");
}

}  // namespace
}  // namespace starling
