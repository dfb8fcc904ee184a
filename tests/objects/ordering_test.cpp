// SPDX-License-Identifier: Apache-2.0
// The order of messages between a sender and a chare: as sent, for each priority.
#include <numeric>

#include <gtest/gtest.h>

#include <starling/core.hpp>
#include <starling/objects.hpp>

#include "on_ranks.hpp"

namespace starling {
namespace {

using starling_test::many;
using starling_test::stay_in_place;

class message_order : public starling_test::on_ranks {};
INSTANTIATE_TEST_SUITE_P(on, message_order, starling_test::some_ranks, starling_test::ranks_name);

/// Records the messages of each sender, for each kind of entry method.
struct listener : chare<listener> {
  template <class Archive>
  void serialize(Archive& ar) {
    ar(m_heard, m_read, m_ended);
  }
  void plain(int from, int n) { m_heard[std::size_t(from)].push_back(n); }
  task<> begun(int from, int n) {
    m_heard[std::size_t(from)].push_back(n);  // coroutines begin in the order of their messages
    co_await yield();
    ++m_ended;
  }
  awaited letter(int from, int n);
  task<> read(int letters) {
    for (int i = 0; i < letters; ++i) {
      const auto [from, n] = co_await when<&listener::letter>();
      m_read[std::size_t(from)].push_back(n);
    }
  }
  bool heard_in_order(int from, int count) const {
    std::vector<int> expected(static_cast<std::size_t>(count));
    std::iota(expected.begin(), expected.end(), 0);
    return m_heard[std::size_t(from)] == expected;
  }
  bool read_in_order(int from, int count) const {
    std::vector<int> expected(static_cast<std::size_t>(count));
    std::iota(expected.begin(), expected.end(), 0);
    return m_read[std::size_t(from)] == expected;
  }

 private:
  std::array<std::vector<int>, 16> m_heard;
  std::array<std::vector<int>, 16> m_read;
  int m_ended = 0;
};

/// Sends numbers to every listener, from one entry method or from several.
struct speaker : chare<speaker> {
  template <class Archive>
  void serialize(Archive&) {}
  void say(chare_array<listener> to, int count) {
    const int n = to.extent().extent();
    for (int i = 0; i < count; ++i)
      for (int l = 0; l < n; ++l) to[l].invoke<&listener::plain>(this_index(), i);
  }
  /// Sends in turn: a broadcast, a section message, messages to coroutines and to plain methods.
  task<> say_mixed(chare_array<listener> to, section<listener> all, int count) {
    const int n = to.extent().extent();
    for (int i = 0; i < count; ++i) {
      if (i % 4 == 0) to.invoke<&listener::plain>(this_index(), i);
      if (i % 4 == 1) all.invoke<&listener::begun>(this_index(), i);
      for (int l = 0; l < n && i % 4 == 2; ++l) to[l].invoke<&listener::begun>(this_index(), i);
      for (int l = 0; l < n && i % 4 == 3; ++l) to[l].invoke<&listener::plain>(this_index(), i);
      if (i % 10 == 0) co_await yield();
    }
  }
  void write(chare_array<listener> to, int count) {
    const int n = to.extent().extent();
    for (int i = 0; i < count; ++i)
      if (i % 2 == 0)
        to.invoke<&listener::letter>(this_index(), i);
      else
        for (int l = 0; l < n; ++l) to[l].invoke<&listener::letter>(this_index(), i);
  }
};

TEST_P(message_order, is_kept_for_each_pair) {
  const auto listeners = create_array<listener>(rt, 5, placement::round_robin);
  const auto speakers = create_array<speaker>(rt, 6, placement::block);
  const int count = many(500, 50);
  rt.sync_wait([](chare_array<speaker> s, chare_array<listener> l, int count) -> task<> {
    s.invoke<&speaker::say>(l, count);
    co_await quiescence();
    for (int to = 0; to < 5; ++to)
      for (int from = 0; from < 6; ++from)
        EXPECT_TRUE((co_await l[to].call<&listener::heard_in_order>(from, count)));
  }(speakers, listeners, count));
}

TEST_P(message_order, is_kept_across_broadcasts_sections_and_kinds_of_methods) {
  const auto listeners = create_array<listener>(rt, 5, placement::block);
  const auto speakers = create_array<speaker>(rt, 6, placement::round_robin);
  const int count = many(200, 40);
  rt.sync_wait([](chare_array<speaker> s, chare_array<listener> l, int count) -> task<> {
    const std::vector<int> everyone{0, 1, 2, 3, 4};
    s.invoke<&speaker::say_mixed>(l, make_section(l, everyone), count);
    co_await quiescence();
    for (int to = 0; to < 5; ++to)
      for (int from = 0; from < 6; ++from)
        EXPECT_TRUE((co_await l[to].call<&listener::heard_in_order>(from, count)));
  }(speakers, listeners, count));
}

TEST_P(message_order, is_kept_for_awaited_messages_whenever_they_are_awaited) {
  const auto listeners = create_array<listener>(rt, 3, placement::round_robin);
  const auto speakers = create_array<speaker>(rt, 4, placement::round_robin);
  const int count = many(200, 30);
  rt.sync_wait([](chare_array<speaker> s, chare_array<listener> l, int count) -> task<> {
    l[0].invoke<&listener::read>(4 * count);  // waits before the messages arrive
    s.invoke<&speaker::write>(l, count);
    l[1].invoke<&listener::read>(4 * count);  // waits while they arrive
    co_await quiescence();
    l[2].invoke<&listener::read>(4 * count);  // waits after they have arrived
    co_await quiescence();
    for (int to = 0; to < 3; ++to)
      for (int from = 0; from < 4; ++from)
        EXPECT_TRUE((co_await l[to].call<&listener::read_in_order>(from, count)));
  }(speakers, listeners, count));
}

TEST_P(message_order, is_kept_for_messages_before_their_element) {
  const auto listeners = create_empty_array<listener>(rt, 4, placement::round_robin);
  rt.sync_wait([](chare_array<listener> l) -> task<> {
    for (int i = 0; i < 50; ++i) l[2].invoke<&listener::plain>(0, i);
    co_await quiescence();
    for (int i = 50; i < 100; ++i) l[2].invoke<&listener::begun>(0, i);
    l.insert(2);
    for (int i = 100; i < 150; ++i) l[2].invoke<&listener::plain>(0, i);
    EXPECT_TRUE((co_await l[2].call<&listener::heard_in_order>(0, 150)));
  }(listeners));
}

TEST_P(message_order, of_a_foreign_thread_is_kept_too) {
  const auto listeners = create_array<listener>(rt, 3, placement::round_robin);
  const int count = many(1000, 100);
  for (int i = 0; i < count; ++i)
    for (int l = 0; l < 3; ++l) listeners[l].invoke<&listener::plain>(7, i);
  for (int l = 0; l < 3; ++l)
    EXPECT_TRUE(rt.sync_wait(listeners[l].call<&listener::heard_in_order>(7, count)));
}

/// Urgent messages: in order among themselves, before waiting normal messages.
struct counter : chare<counter> {
  template <class Archive>
  void serialize(Archive& ar) {
    ar(m_normal, m_urgent, m_urgent_when_last);
  }
  void normal(int n) {
    m_normal.push_back(n);
    m_urgent_when_last = m_urgent.size();
  }
  void urgent_one(int n) { m_urgent.push_back(n); }
  void flood_yourself(int count) {
    for (int i = 0; i < count; ++i) this_element().invoke<&counter::normal>(i);
    for (int i = 0; i < count; ++i) this_element().urgent().invoke<&counter::urgent_one>(i);
    this_element().invoke<&counter::normal>(count);
  }
  bool in_order(int count) const {
    std::vector<int> expected(static_cast<std::size_t>(count) + 1);
    std::iota(expected.begin(), expected.end(), 0);
    const bool normal = m_normal == expected;
    expected.pop_back();
    return normal && m_urgent == expected;
  }
  int urgent_when_last() const { return int(m_urgent_when_last); }

 private:
  std::vector<int> m_normal;
  std::vector<int> m_urgent;
  std::size_t m_urgent_when_last = 0;
};

TEST_P(message_order, is_kept_within_each_priority) {
  const auto counters = create_array<counter>(rt, 4, placement::round_robin);
  const int count = many(500, 50);
  rt.sync_wait([](chare_array<counter> all, int count) -> task<> {
    all.invoke<&counter::flood_yourself>(count);
    co_await quiescence();
    for (int i = 0; i < 4; ++i) EXPECT_TRUE((co_await all[i].call<&counter::in_order>(count)));
  }(counters, count));
}

TEST_P(message_order, has_urgent_messages_first) {
  stay_in_place(rt, "urgent messages to migrated elements may be held");
  const auto counters = create_array<counter>(rt, 4, placement::round_robin);
  const int count = many(500, 50);
  rt.sync_wait([](chare_array<counter> all, int count) -> task<> {
    all.invoke<&counter::flood_yourself>(count);
    co_await quiescence();
    for (int i = 0; i < 4; ++i)
      EXPECT_EQ(co_await all[i].call<&counter::urgent_when_last>(), count);
  }(counters, count));
}

/// Sends messages to itself while its worker is busy with the sending method.
struct hasty : chare<hasty> {
  void begin() {
    for (int i = 0; i < 10; ++i) this_element().invoke<&hasty::slow>();
    for (int i = 0; i < 10; ++i) this_element().urgent().invoke<&hasty::fast>();
  }
  void slow() { ++m_slow; }
  void fast() { m_slow_before_fast = std::max(m_slow_before_fast, m_slow); }
  int slow_before_fast() const { return m_slow_before_fast; }

 private:
  int m_slow = 0;
  int m_slow_before_fast = 0;
};

TEST(urgent_messages, overtake_all_waiting_messages) {
  runtime_options options = starling_test::options_with(1);
  options.chaos.reset();  // chaos mode mixes priorities, too
  runtime rt(options);
  const auto all = create_array<hasty>(rt, 2, placement::block);
  rt.sync_wait([](chare_array<hasty> a) -> task<> {
    a[1].invoke<&hasty::begin>();
    co_await quiescence();
    EXPECT_LT((co_await a[1].call<&hasty::slow_before_fast>()), 10);
  }(all));
}

}  // namespace
}  // namespace starling
