// SPDX-License-Identifier: Apache-2.0
// Elements that migrate between workers and ranks: messages, coroutines, broadcasts, sections,
// reductions and destruction.
#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <starling/core.hpp>
#include <starling/objects.hpp>

#include "names.hpp"
#include "on_ranks.hpp"

namespace starling {
namespace {

using starling_test::cluster;
using starling_test::many;
using starling_test::message_of;
using starling_test::numbers;
using starling_test::over_ucx;
using starling_test::stay_in_place;

class migration : public starling_test::on_ranks {};
INSTANTIATE_TEST_SUITE_P(on, migration,
                         testing::Values(cluster{1, 1}, cluster{1, 2}, cluster{1, 3}, cluster{1, 4},
                                         cluster{2, 1}, cluster{2, 2}, cluster{3, 1},
                                         over_ucx({2, 1})),
                         starling_test::ranks_name);

constexpr int senders = 6;
constexpr int travellers = 5;

/// Records each message by sender, and migrates when told and after every few messages.
struct traveller : chare<traveller> {
  explicit traveller(int every = 0) : m_every(every) {}
  void go(int to) { migrate_to(std::size_t(to)); }
  void plain(int from, int n) { note(from, n); }
  task<> begun(int from, int n) {
    note(from, n);
    co_await yield();
    ++m_ended;
  }
  awaited letter(int from, int n);
  task<> read(int letters) {
    for (int i = 0; i < letters; ++i) {
      const auto [from, n] = co_await when<&traveller::letter>();
      note(from, n);
    }
  }
  task<int> sums(int rounds) {
    int total = 0;
    for (int i = 0; i < rounds; ++i) {
      step();
      total += co_await reduce(i + 1, reduction::sum());
      co_await barrier();
    }
    co_return total;
  }
  /// Contributes a number that no other element and no other round has.
  void give(int round, const callback<std::vector<int>>& to) {
    contribute(std::vector<int>{travellers * round + this_index()}, reduction::concatenate(), to);
    step();
  }
  /// Returns the numbers that `give` contributes, of all rounds; in order within each.
  task<std::vector<int>> names(int rounds) {
    std::vector<int> all;
    for (int i = 0; i < rounds; ++i) {
      step();
      std::vector<int> mine{travellers * i + this_index()};
      std::vector<int> got = co_await reduce(std::move(mine), reduction::concatenate());
      std::ranges::sort(got);
      all.insert(all.end(), got.begin(), got.end());
    }
    co_return all;
  }
  task<std::vector<int>> names_over(section<traveller> some, int rounds) {
    std::vector<int> all;
    for (int i = 0; i < rounds; ++i) {
      step();
      std::vector<int> mine{travellers * i + this_index()};
      std::vector<int> got = co_await reduce(some, std::move(mine), reduction::concatenate());
      std::ranges::sort(got);
      all.insert(all.end(), got.begin(), got.end());
    }
    co_return all;
  }
  int place() { return int(this_worker()); }
  int migrations() const { return m_migrations; }
  /// Whether the messages of each sender are those from 0 to count − 1, in order.
  bool has_all_in_order(int count) const {
    for (const std::vector<int>& heard : m_heard) {
      if (heard.size() != std::size_t(count)) return false;
      for (int i = 0; i < count; ++i)
        if (heard[std::size_t(i)] != i) return false;
    }
    return true;
  }
  std::string heard() const {
    std::string text;
    for (const auto& of : m_heard) {
      for (const int n : of) text += std::to_string(n) + " ";
      text += "| ";
    }
    return text;
  }
  void before_migration() { m_left = this_worker(); }
  void after_migration() {
    ++m_migrations;
    EXPECT_NE(m_left, this_worker());
  }

 private:
  void note(int from, int n) {
    m_heard[std::size_t(from)].push_back(n);
    step();
  }
  void step() {
    if (m_every == 0 || ++m_steps % m_every != 0) return;
    m_next = (m_next * 1103515245 + 12345 + std::uint32_t(this_index())) & 0x7fffffff;
    migrate_to((m_next >> 8) % std::size_t(m_workers));
  }

 public:
  void set_workers(int n) { m_workers = n; }
  template <class Archive>
  void serialize(Archive& ar) {
    ar(m_every, m_workers, m_steps, m_next, m_heard, m_ended, m_migrations, m_left);
  }

 private:
  int m_every;
  int m_workers = 1;
  int m_steps = 0;
  std::uint32_t m_next = 1;
  std::array<std::vector<int>, senders> m_heard;
  int m_ended = 0;
  int m_migrations = 0;
  std::size_t m_left = 0;
};

struct sender : chare<sender> {
  template <class Archive>
  void serialize(Archive&) {}
  void say(chare_array<traveller> to, int count) {
    const int n = to.extent().extent();
    for (int i = 0; i < count; ++i)
      for (int l = 0; l < n; ++l) to[l].invoke<&traveller::plain>(this_index(), i);
  }
  /// Sends in turn: broadcasts, section messages, messages to coroutines and plain methods.
  task<> say_mixed(chare_array<traveller> to, section<traveller> all, int count) {
    const int n = to.extent().extent();
    for (int i = 0; i < count; ++i) {
      if (i % 5 == 0) to.invoke<&traveller::plain>(this_index(), i);
      if (i % 5 == 1) all.invoke<&traveller::plain>(this_index(), i);
      for (int l = 0; l < n && i % 5 == 2; ++l) to[l].invoke<&traveller::begun>(this_index(), i);
      for (int l = 0; l < n && i % 5 >= 3; ++l) to[l].invoke<&traveller::plain>(this_index(), i);
      if (i % 7 == 0) co_await yield();
    }
  }
  void write(chare_array<traveller> to, int count) {
    const int n = to.extent().extent();
    for (int i = 0; i < count; ++i)
      if (i % 3 == 0)
        to.invoke<&traveller::letter>(this_index(), i);
      else
        for (int l = 0; l < n; ++l) to[l].invoke<&traveller::letter>(this_index(), i);
  }
};

TEST_P(migration, an_element_moves_to_the_worker_that_it_names) {
  stay_in_place(rt, "names the workers of the placement");
  const auto all = create_array<traveller>(rt, travellers, placement::round_robin);
  const int workers = int(total_worker_count(rt));
  rt.sync_wait([](chare_array<traveller> all, int workers) -> task<> {
    for (int to = 0; to < 2 * workers; ++to) {
      all[1].invoke<&traveller::go>(to % workers);
      co_await quiescence();
      EXPECT_EQ(co_await all[1].call<&traveller::place>(), to % workers);
    }
    EXPECT_GE(co_await all[1].call<&traveller::migrations>(), workers > 1 ? workers : 0);
  }(all, workers));
}

TEST_P(migration, keeps_the_order_of_each_sender) {
  const auto all = create_array<traveller>(rt, travellers, placement::round_robin, 7);
  const auto speakers = create_array<sender>(rt, senders, placement::block);
  const int count = many(300, 60), workers = int(total_worker_count(rt));
  rt.sync_wait(
      [](chare_array<sender> s, chare_array<traveller> l, int count, int workers) -> task<> {
        l.invoke<&traveller::set_workers>(workers);
        co_await quiescence();
        s.invoke<&sender::say>(l, count);
        co_await quiescence();
        for (int to = 0; to < travellers; ++to)
          EXPECT_TRUE((co_await l[to].call<&traveller::has_all_in_order>(count)))
              << co_await l[to].call<&traveller::heard>();
      }(speakers, all, count, workers));
}

TEST_P(migration, keeps_the_order_across_broadcasts_sections_and_kinds_of_methods) {
  const auto all = create_array<traveller>(rt, travellers, placement::block, 5);
  const auto speakers = create_array<sender>(rt, senders, placement::round_robin);
  const int count = many(200, 40), workers = int(total_worker_count(rt));
  rt.sync_wait(
      [](chare_array<sender> s, chare_array<traveller> l, int count, int workers) -> task<> {
        l.invoke<&traveller::set_workers>(workers);
        co_await quiescence();
        const std::vector<int> everyone{0, 1, 2, 3, 4};
        s.invoke<&sender::say_mixed>(l, make_section(l, everyone), count);
        co_await quiescence();
        for (int to = 0; to < travellers; ++to)
          EXPECT_TRUE((co_await l[to].call<&traveller::has_all_in_order>(count)))
              << co_await l[to].call<&traveller::heard>();
      }(speakers, all, count, workers));
}

TEST_P(migration, takes_along_the_mailbox_and_coroutines_that_wait_for_messages) {
  const auto all = create_array<traveller>(rt, travellers, placement::round_robin, 3);
  const auto speakers = create_array<sender>(rt, senders, placement::round_robin);
  const int count = many(150, 30), workers = int(total_worker_count(rt));
  rt.sync_wait(
      [](chare_array<sender> s, chare_array<traveller> l, int count, int workers) -> task<> {
        l.invoke<&traveller::set_workers>(workers);
        co_await quiescence();
        for (int i = 0; i < 3; ++i) l[i].invoke<&traveller::read>(senders * count);
        s.invoke<&sender::write>(l, count);
        co_await quiescence();
        for (int i = 3; i < travellers; ++i) {
          l[i].invoke<&traveller::go>((i + 1) % workers);  // with a full mailbox
          l[i].invoke<&traveller::read>(senders * count);
        }
        co_await quiescence();
        for (int to = 0; to < travellers; ++to)
          EXPECT_TRUE((co_await l[to].call<&traveller::has_all_in_order>(count)))
              << co_await l[to].call<&traveller::heard>();
      }(speakers, all, count, workers));
}

/// Returns what `traveller::names` returns if these elements contribute, each once in each round.
std::vector<int> names_of(const std::vector<int>& elements, int rounds) {
  std::vector<int> result;
  for (int i = 0; i < rounds; ++i)
    for (const int each : elements) result.push_back(travellers * i + each);
  return result;
}

TEST_P(migration, completes_reductions_while_elements_move) {
  const auto all = create_array<traveller>(rt, travellers, placement::round_robin, 2);
  const int rounds = many(50, 15), workers = int(total_worker_count(rt));
  rt.sync_wait([](chare_array<traveller> l, int rounds, int workers) -> task<> {
    l.invoke<&traveller::set_workers>(workers);
    co_await quiescence();
    std::vector<future<int>> sums;
    for (int i = 0; i < travellers; ++i) sums.push_back(l[i].call<&traveller::sums>(rounds));
    for (const int sum : co_await when_all(std::move(sums)))
      EXPECT_EQ(sum, travellers * rounds * (rounds + 1) / 2);
    std::vector<future<std::vector<int>>> names;
    for (int i = 0; i < travellers; ++i) names.push_back(l[i].call<&traveller::names>(rounds));
    const std::vector<int> everyone = numbers(0, travellers);
    for (auto& each : names) EXPECT_EQ(co_await std::move(each), names_of(everyone, rounds));
    std::vector<int> few{0, 2, 3};
    const auto some = make_section(l, few);
    names.clear();
    for (const int i : few) names.push_back(l[i].call<&traveller::names_over>(some, rounds));
    for (auto& each : names) EXPECT_EQ(co_await std::move(each), names_of(few, rounds));
  }(all, rounds, workers));
}

struct listener : chare<listener> {
  template <class Archive>
  void serialize(Archive& ar) {
    ar(m_results);
  }
  void result(std::vector<int> names) {
    std::ranges::sort(names);
    m_results.push_back(std::move(names));
  }
  std::vector<std::vector<int>> results() const { return m_results; }

 private:
  std::vector<std::vector<int>> m_results;
};

TEST_P(migration, sends_the_results_of_reductions_to_callbacks) {
  const auto all = create_array<traveller>(rt, travellers, placement::round_robin, 1);
  const auto ear = create_array<listener>(rt, 1, placement::block);
  const int rounds = many(40, 10), workers = int(total_worker_count(rt));
  rt.sync_wait(
      [](chare_array<traveller> l, chare_array<listener> ear, int rounds, int workers) -> task<> {
        l.invoke<&traveller::set_workers>(workers);
        co_await quiescence();
        const auto to = ear[0].to<&listener::result, std::vector<int>>();
        std::vector<std::vector<int>> expected(static_cast<std::size_t>(rounds));
        for (int i = 0; i < rounds; ++i) {
          l.invoke<&traveller::give>(i, to);
          for (int e = 0; e < travellers; ++e)
            expected[std::size_t(i)].push_back(travellers * i + e);
        }
        co_await quiescence();
        std::vector<std::vector<int>> results = co_await ear[0].call<&listener::results>();
        std::ranges::sort(results);
        EXPECT_EQ(results, expected);
      }(all, ear, rounds, workers));
}

TEST_P(migration, ends_with_the_element) {
  const auto all = create_array<traveller>(rt, travellers, placement::round_robin);
  const int workers = int(total_worker_count(rt));
  rt.sync_wait([](chare_array<traveller> l, int workers) -> task<> {
    for (int i = 0; i < travellers; ++i) l[i].invoke<&traveller::go>((i + 1) % workers);
    co_await quiescence();
    future<int> last = l[2].call<&traveller::place>();
    l[2].destroy();
    co_await std::move(last);
    co_await quiescence();
    EXPECT_THROW(co_await l[2].call<&traveller::place>(), no_such_element);
    EXPECT_THROW(co_await l[2].call<&traveller::place>(), no_such_element) << "also directly";
    l.invoke<&traveller::plain>(0, 0);  // reaches the remaining elements
    co_await quiescence();
    std::vector<future<int>> sums;
    for (const int i : {0, 1, 3, 4}) sums.push_back(l[i].call<&traveller::sums>(3));
    for (const int sum : co_await when_all(std::move(sums))) EXPECT_EQ(sum, 4 * 6);
    l.destroy();
    co_await quiescence();
    EXPECT_THROW(co_await l[1].call<&traveller::place>(), no_such_element);
  }(all, workers));
}

/// Goes to each worker in turn and tells where its coroutine ran.
struct tourist : chare<tourist> {
  tourist() = default;
  template <class Archive>
  void serialize(Archive& ar) {
    ar(m_next, m_last, m_places, m_end);
  }
  void begin(int last, callback<std::vector<int>> end) {
    m_last = last;
    m_end = std::move(end);
    this_element().template invoke<&tourist::travel>();
  }
  task<> travel() {
    while (m_next <= m_last) {
      co_await migration_point();  // no migration is asked for
      const int to = m_next++;
      migrate_to(std::size_t(to));
      co_await migration_point();
      m_places.push_back(int(this_worker()));
    }
    std::vector<int> places = m_places;
    m_end.deliver(std::move(places));
  }
  task<> resumed() {
    m_places.push_back(int(this_worker()));
    return travel();
  }

 private:
  int m_next = 0;
  int m_last = 0;
  std::vector<int> m_places;
  callback<std::vector<int>> m_end;
};

TEST_P(migration, by_points_leads_to_each_worker) {
  stay_in_place(rt, "counts arrivals on other ranks");
  const auto one = create_array<tourist>(rt, 1, placement::block);
  const std::vector<int> places =
      rt.sync_wait([](chare_array<tourist> one, int last) -> task<std::vector<int>> {
        auto [to, result] = make_reply<std::vector<int>>();
        one[0].invoke<&tourist::begin>(last, to);
        co_return co_await std::move(result);
      }(one, int(total_worker_count(rt)) - 1));
  std::vector<int> expected(static_cast<std::size_t>(int(total_worker_count(rt))));
  for (int i = 0; i < int(total_worker_count(rt)); ++i) expected[std::size_t(i)] = i;
  EXPECT_EQ(places, expected);
}

TEST_P(migration, to_a_worker_that_does_not_exist_is_an_error) {
  const auto all = create_array<traveller>(rt, 1, placement::block);
  const std::string error = message_of<entry_error>([&] {
    rt.sync_wait([](chare_array<traveller> l) -> task<> {
      l[0].invoke<&traveller::go>(99);
      co_await quiescence();
    }(all));
  });
  EXPECT_NE(error.find("worker 99"), std::string::npos) << error;
}

}  // namespace
}  // namespace starling
