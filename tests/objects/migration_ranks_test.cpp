// SPDX-License-Identifier: Apache-2.0
// Elements that migrate to other ranks: their state, replies, reductions, sections, and errors.
#include <algorithm>
#include <cstdint>
#include <numeric>
#include <stdexcept>
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
using starling_test::named;
using starling_test::numbers;
using starling_test::over_ucx;
using starling_test::stay_in_place;

class rank_migration : public starling_test::on_ranks {
 protected:
  [[nodiscard]] int workers() { return int(total_worker_count(rt)); }
};
INSTANTIATE_TEST_SUITE_P(on, rank_migration,
                         testing::Values(cluster{2, 1}, cluster{2, 2}, cluster{3, 1}, cluster{5, 2},
                                         over_ucx({2, 2})),
                         starling_test::ranks_name);

/// Its members are of the kinds that an archive packs in different ways.
struct nomad : chare<nomad> {
  explicit nomad(int size) : m_numbers(std::size_t(size)) {
    std::iota(m_numbers.begin(), m_numbers.end(), this_index());
    m_shared = shared_buffer<double>(std::vector<double>(std::size_t(size), 0.5));
  }
  explicit nomad(migrated) { ++m_arrivals; }
  template <class Archive>
  void serialize(Archive& ar) {
    int arrivals = m_arrivals;
    ar(m_numbers, m_shared, m_to, m_some, arrivals);
    if constexpr (Archive::is_reading) m_arrivals += arrivals;
  }

  void go(int to) { migrate_to(std::size_t(to)); }
  void keep(callback<int> to, const section<nomad>& some) {
    m_to = to;
    m_some = {some};
  }
  void answer() { m_to.deliver(this_index() + 0); }
  int place() { return int(this_worker()); }
  int rank() const { return this_rank().number; }
  int arrivals() const { return m_arrivals; }
  std::int64_t sum() const {
    double shared = 0;
    for (const double x : m_shared) shared += x;
    return std::accumulate(m_numbers.begin(), m_numbers.end(), std::int64_t{0}) +
           std::int64_t(2 * shared);
  }
  int refuse() { throw std::invalid_argument("no value"); }
  task<int> value_later() {
    co_await yield();
    co_return this_index() * 10;
  }
  awaited letter(int number);
  task<std::vector<int>> letters(int count) {
    std::vector<int> found;
    for (int i = 0; i < count; ++i) found.push_back(co_await when<&nomad::letter>());
    co_return found;
  }
  task<int> sums(int rounds) {
    int total = 0;
    for (int i = 0; i < rounds; ++i) total += co_await reduce(i + 1, reduction::sum());
    co_return total;
  }
  task<int> sums_of_section(int rounds) {
    int total = 0;
    for (int i = 0; i < rounds; ++i) total += co_await reduce(m_some.at(0), 1, reduction::sum());
    co_return total;
  }
  task<> failing_sum() {
    co_await reduce(1, [](int, int) -> int { throw std::range_error("no sum"); });
  }
  void name(callback<std::vector<int>> to) {
    contribute(std::vector<int>{this_index()}, reduction::concatenate(), to);
  }
  /// Returns the indices of the elements that contribute, in order. `over`: empty or one section.
  task<std::vector<int>> names(std::vector<section<nomad>> over) {
    std::vector<int> mine{this_index()}, got;
    if (over.empty())
      got = co_await reduce(std::move(mine), reduction::concatenate());
    else
      got = co_await reduce(over.front(), std::move(mine), reduction::concatenate());
    std::ranges::sort(got);
    co_return got;
  }
  void note(int n) { m_numbers.push_back(n); }
  std::vector<int> notes() const { return m_numbers; }

 private:
  std::vector<int> m_numbers;
  shared_buffer<double> m_shared;
  callback<int> m_to;
  std::vector<section<nomad>> m_some;
  int m_arrivals = 0;
};

constexpr int nomads = 6;

task<> scatter(chare_array<nomad> all, int by, int workers) {
  for (int i = 0; i < nomads; ++i) {
    const int at = co_await all[i].call<&nomad::place>();
    all[i].invoke<&nomad::go>((at + by) % workers);
  }
  co_await quiescence();
}

TEST_P(rank_migration, carries_the_state) {
  stay_in_place(rt, "checks the place of each element");
  for (const int size : {0, 3, 5000, many(1 << 18, 1 << 14)}) {
    const auto all = create_array<nomad>(rt, nomads, placement::block, size);
    rt.sync_wait([](chare_array<nomad> all, int size, int workers) -> task<> {
      for (int hop = 0; hop < 4; ++hop) co_await scatter(all, 1, workers);
      for (int i = 0; i < nomads; ++i) {
        EXPECT_EQ(co_await all[i].call<&nomad::sum>(),
                  std::int64_t(size) * (size - 1) / 2 + std::int64_t(size) * i + size);
        EXPECT_EQ(co_await all[i].call<&nomad::place>(), (i * workers / nomads + 4) % workers);
      }
    }(all, size, workers()));
  }
}

TEST_P(rank_migration, counts_its_arrivals_on_other_ranks_only) {
  stay_in_place(rt, "counts migrations");
  const auto all = create_array<nomad>(rt, nomads, placement::round_robin, 1);
  rt.sync_wait([](chare_array<nomad> all, int workers) -> task<> {
    std::vector<int> ranks(nomads), changes(nomads);
    for (int i = 0; i < nomads; ++i) ranks[std::size_t(i)] = co_await all[i].call<&nomad::rank>();
    for (int hop = 0; hop < 3 * workers; ++hop) {
      co_await scatter(all, 1, workers);
      for (int i = 0; i < nomads; ++i) {
        const int now = co_await all[i].call<&nomad::rank>();
        changes[std::size_t(i)] += now != std::exchange(ranks[std::size_t(i)], now) ? 1 : 0;
        EXPECT_EQ(co_await all[i].call<&nomad::arrivals>(), changes[std::size_t(i)]);
      }
    }
  }(all, workers()));
}

TEST_P(rank_migration, returns_results_and_errors_to_callers_everywhere) {
  const auto all = create_array<nomad>(rt, nomads, placement::round_robin, 1);
  rt.sync_wait([](chare_array<nomad> all, int workers) -> task<> {
    for (int round = 0; round < 5; ++round) {
      for (int i = 0; i < nomads; ++i) {
        // Forwarded by the home at first, and sent to a place that the element leaves.
        auto before = all[i].call<&nomad::value_later>();
        all[i].invoke<&nomad::go>((i + round) % workers);
        auto after = all[i].call<&nomad::value_later>();
        EXPECT_EQ(co_await std::move(before), i * 10);
        EXPECT_EQ(co_await std::move(after), i * 10);
        EXPECT_THROW(co_await all[i].call<&nomad::refuse>(), std::invalid_argument);
      }
    }
  }(all, workers()));
}

TEST_P(rank_migration, carries_the_mailbox) {
  const auto all = create_array<nomad>(rt, nomads, placement::round_robin, 1);
  rt.sync_wait([](chare_array<nomad> all, int workers) -> task<> {
    const int hops = 3;
    for (int hop = 0; hop < hops; ++hop) {
      for (int i = 0; i < nomads; ++i) {
        all[i].invoke<&nomad::letter>(2 * hop);
        all[i].invoke<&nomad::go>((i + hop) % workers);
        all[i].invoke<&nomad::letter>(2 * hop + 1);
      }
      co_await quiescence();
    }
    std::vector<int> expected(2 * hops);
    std::iota(expected.begin(), expected.end(), 0);
    for (int i = 0; i < nomads; ++i)
      EXPECT_EQ(co_await all[i].call<&nomad::letters>(2 * hops), expected);
  }(all, workers()));
}

TEST_P(rank_migration, contributes_and_waits_for_results_on_another_rank) {
  const auto all = create_array<nomad>(rt, nomads, placement::round_robin, 1);
  rt.sync_wait([](chare_array<nomad> all, int workers) -> task<> {
    const std::vector<int> few{0, 2, 3, 5};
    const auto some = make_section(all, few);
    const std::vector<int> everyone = numbers(0, nomads);
    const std::vector<section<nomad>> no_section, one_section{some};
    all.invoke<&nomad::keep>(callback<int>(), some);
    co_await quiescence();
    for (int hop = 0; hop < 3; ++hop) {
      co_await scatter(all, 1, workers);
      std::vector<future<int>> sums;
      for (int i = 0; i < nomads; ++i) sums.push_back(all[i].call<&nomad::sums>(4));
      for (const int sum : co_await when_all(std::move(sums))) EXPECT_EQ(sum, nomads * 10);
      std::vector<future<int>> parts;
      for (const int i : few) parts.push_back(all[i].call<&nomad::sums_of_section>(3));
      for (const int sum : co_await when_all(std::move(parts))) EXPECT_EQ(sum, 3 * 4);
      EXPECT_EQ(co_await named(all), everyone);
      std::vector<future<std::vector<int>>> each;
      for (const int i : few) each.push_back(all[i].call<&nomad::names>(one_section));
      for (auto& e : each) EXPECT_EQ(co_await std::move(e), few);
      each.clear();
      for (const int i : everyone) each.push_back(all[i].call<&nomad::names>(no_section));
      for (auto& e : each) EXPECT_EQ(co_await std::move(e), everyone);
      std::vector<future<void>> failures;
      for (int i = 0; i < nomads; ++i) failures.push_back(all[i].call<&nomad::failing_sum>());
      for (auto& f : failures) EXPECT_THROW(co_await std::move(f), std::range_error);
    }
  }(all, workers()));
}

TEST_P(rank_migration, keeps_proxies_and_callbacks_valid) {
  const auto all = create_array<nomad>(rt, nomads, placement::round_robin, 1);
  rt.sync_wait([](chare_array<nomad> all, int workers) -> task<> {
    const auto some = make_section(all, {1, 4});
    for (int hop = 0; hop < 3; ++hop) {
      auto [to, answer] = make_reply<int>();
      all[4].invoke<&nomad::keep>(to, some);
      co_await scatter(all, 1, workers);
      all[4].invoke<&nomad::answer>();
      EXPECT_EQ(co_await std::move(answer), 4);
    }
  }(all, workers()));
}

/// Sends single messages, broadcasts and messages to a section in turn.
struct speaker : chare<speaker> {
  template <class Archive>
  void serialize(Archive&) {}
  void say(chare_array<nomad> to, section<nomad> some, int count) {
    for (int n = 0; n < count; ++n) {
      if (n % 3 == 0) to.invoke<&nomad::note>(n);
      if (n % 3 == 1) some.invoke<&nomad::note>(n);
      for (int i = 0; n % 3 == 2 && i < nomads; ++i) to[i].invoke<&nomad::note>(n);
    }
  }
};

TEST_P(rank_migration, orders_messages_to_sections_of_which_the_sender_knows_no_member) {
  const auto all = create_array<nomad>(rt, nomads, placement::round_robin, 0);
  const auto speakers = create_group<speaker>(rt);
  const int count = many(60, 24);
  rt.sync_wait(
      [](chare_array<nomad> all, chare_array<speaker> from, int count, int workers) -> task<> {
        const auto some = make_section(all, {0, 3});
        co_await scatter(all, 1, workers);
        from[workers - 1].invoke<&speaker::say>(all, some, count);
        for (int hop = 0; hop < 4; ++hop)
          for (int i = 0; i < nomads; ++i) all[i].invoke<&nomad::go>((i + hop) % workers);
        co_await quiescence();
        for (int i = 0; i < nomads; ++i) {
          std::vector<int> expected;
          for (int n = 0; n < count; ++n)
            if (n % 3 != 1 || i == 0 || i == 3) expected.push_back(n);
          EXPECT_EQ(co_await all[i].call<&nomad::notes>(), expected) << "element " << i;
        }
      }(all, speakers, count, workers()));
}

TEST_P(rank_migration, keeps_the_order_of_a_thread_that_is_no_worker) {
  const auto all = create_array<nomad>(rt, nomads, placement::round_robin, 0);
  const int count = many(200, 40);
  for (int n = 0; n < count; ++n) {
    for (int i = 0; i < nomads; ++i) all[i].invoke<&nomad::note>(n);
    if (n % 7 == 0) all[n % nomads].invoke<&nomad::go>(n % workers());
  }
  rt.wait_idle();
  std::vector<int> expected(static_cast<std::size_t>(count));
  std::iota(expected.begin(), expected.end(), 0);
  for (int i = 0; i < nomads; ++i)
    EXPECT_EQ(rt.sync_wait(all[i].call<&nomad::notes>()), expected) << "element " << i;
}

TEST_P(rank_migration, is_destroyed_on_another_rank) {
  const auto all = create_array<nomad>(rt, nomads, placement::round_robin, 1);
  rt.sync_wait([](chare_array<nomad> all, int workers) -> task<> {
    co_await scatter(all, 1, workers);
    all[1].destroy();
    all[2].destroy();
    co_await quiescence();
    EXPECT_THROW(co_await all[1].call<&nomad::place>(), no_such_element);
    EXPECT_THROW(co_await all[2].call<&nomad::place>(), no_such_element);
    EXPECT_THROW(co_await all[2].call<&nomad::place>(), no_such_element) << "also directly";
    all.invoke<&nomad::note>(1);
    std::vector<future<int>> sums;
    for (const int i : {0, 3, 4, 5}) sums.push_back(all[i].call<&nomad::sums>(2));
    for (const int sum : co_await when_all(std::move(sums))) EXPECT_EQ(sum, 4 * 3);
    all.destroy();
    co_await quiescence();
    EXPECT_THROW(co_await all[3].call<&nomad::place>(), no_such_element);
  }(all, workers()));
}

TEST_P(rank_migration, answers_messages_that_arrive_behind_a_destruction) {
  for (int round = 0; round < many(30, 8); ++round) {
    const auto all = create_array<nomad>(rt, nomads, placement::round_robin, 0);
    rt.sync_wait(
        rt.on_worker(0).spawn([](chare_array<nomad> all, int workers, int round) -> task<> {
          co_await scatter(all, 1, workers);
          for (int i = 0; i < nomads; ++i) {
            static_cast<void>(co_await all[i].call<&nomad::place>());  // opens the sequence
            all[i].invoke<&nomad::go>((i + round) % workers);
            for (int n = 0; n < 5; ++n) all[i].invoke<&nomad::note>(n);
            auto last = all[i].call<&nomad::notes>();
            all[i].destroy();
            std::vector<future<int>> late;
            for (int n = 0; n < 5; ++n) late.push_back(all[i].call<&nomad::place>());
            EXPECT_EQ((co_await std::move(last)).size(), 5u);
            for (auto& l : late) EXPECT_THROW(co_await std::move(l), no_such_element);
          }
        }(all, workers(), round)));
  }
}

/// Waits for a message; an element with such a coroutine stays on its rank.
struct sitter : chare<sitter> {
  void go(int to) { migrate_to(std::size_t(to)); }
  awaited end();
  task<> sit() { co_await when<&sitter::end>(); }
  int rank() const { return this_rank().number; }
  template <class Archive>
  void serialize(Archive&) {}
};

TEST_P(rank_migration, waits_for_the_end_of_coroutines) {
  stay_in_place(rt, "the element may migrate before its coroutine begins");
  const auto one = create_array<sitter>(rt, 1, placement::block);
  rt.sync_wait([](chare_array<sitter> one, int workers) -> task<> {
    auto sitting = one[0].call<&sitter::sit>();
    one[0].invoke<&sitter::go>(workers - 1);
    co_await quiescence();
    EXPECT_EQ(co_await one[0].call<&sitter::rank>(), 0);
    one[0].invoke<&sitter::end>();
    co_await std::move(sitting);
    co_await quiescence();
    EXPECT_EQ(co_await one[0].call<&sitter::rank>(), rank_count() - 1);
  }(one, workers()));
}

struct settler : chare<settler> {
  void go(int to) { migrate_to(std::size_t(to)); }
};

TEST_P(rank_migration, of_a_class_without_an_archive_is_an_error) {
  const auto one = create_array<settler>(rt, 1, placement::block);
  const std::string error = message_of<entry_error>([&] {
    rt.sync_wait([](chare_array<settler> l, int workers) -> task<> {
      l[0].invoke<&settler::go>(workers - 1);
      co_await quiescence();
    }(one, workers()));
  });
  EXPECT_NE(error.find("its class needs a public serialize"), std::string::npos) << error;
}

struct fragile : chare<fragile> {
  fragile() = default;
  explicit fragile(bool fails_there) : m_fails_there(fails_there) {}
  void go(int to) { migrate_to(std::size_t(to)); }
  template <class Archive>
  void serialize(Archive& ar) {
    ar(m_fails_there);
    if (Archive::is_reading == m_fails_there) throw std::runtime_error("too fragile");
  }

 private:
  bool m_fails_there = false;
};

TEST_P(rank_migration, that_fails_ends_the_run_and_names_the_element) {
  for (const bool there : {false, true}) {
    starling_test::first_rank own(GetParam());
    stay_in_place(own, "the element may fail to migrate before the test waits for its error");
    const auto one = create_array<fragile>(own, 1, placement::block, there);
    const std::string error = message_of<entry_error>([&] {
      own.sync_wait([](chare_array<fragile> l, int workers) -> task<> {
        l[0].invoke<&fragile::go>(workers - 1);
        co_await quiescence();
      }(one, workers()));
    });
    EXPECT_NE(error.find("fragile[0]"), std::string::npos) << error;
    EXPECT_NE(error.find("too fragile"), std::string::npos) << error;
  }
}

}  // namespace
}  // namespace starling
