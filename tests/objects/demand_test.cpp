// SPDX-License-Identifier: Apache-2.0
// Sparse arrays whose elements are made on demand, by the first messages to them.
#include <algorithm>
#include <array>
#include <atomic>
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
using starling_test::over_ucx;
using starling_test::stay_in_place;

constexpr std::size_t indices = 12;
constexpr int speakers = 8;

/// Constructor calls by index, of all ranks: they are threads of this process.
std::array<std::atomic<int>, indices> s_made;

int made_in_all() {
  int sum = 0;
  for (const auto& each : s_made) sum += each;
  return sum;
}

class demand : public starling_test::on_ranks {
 protected:
  void SetUp() override {
    on_ranks::SetUp();
    for (auto& each : s_made) each = 0;
  }
  [[nodiscard]] int workers() { return int(total_worker_count(rt)); }
  /// Messages are ordered by sending thread: a stealable task could overtake its own messages.
  template <class T>
  T wait_for(task<T> t) {
    return rt.sync_wait(rt.on_worker(0).spawn(std::move(t)));
  }
};
INSTANTIATE_TEST_SUITE_P(on, demand,
                         testing::Values(cluster{1, 1}, cluster{1, 2}, cluster{1, 4}, cluster{2, 1},
                                         cluster{2, 2}, cluster{3, 1}, over_ucx({2, 1})),
                         starling_test::ranks_name);

/// Notes all messages by sender, and migrates after every few of them.
struct ledger : chare<ledger, std::uint64_t> {
  ledger(int start, int every, int workers)
      : m_start(start), m_every(every), m_workers(workers), m_notes(speakers) {
    ++s_made.at(this_index());
  }
  explicit ledger(migrated) {}
  template <class Archive>
  void serialize(Archive& ar) {
    ar(m_start, m_every, m_workers, m_steps, m_notes);
  }

  void take(int from, int n) {
    m_notes[std::size_t(from)].push_back(n);
    if (m_every == 0 || ++m_steps % m_every != 0) return;
    migrate_to((std::uint64_t(m_steps) * 7 + this_index() * 3) % std::uint64_t(m_workers));
  }
  int take_and_answer(int from, int n) {
    take(from, n);
    return n;
  }
  task<int> take_later(int from, int n) {
    take(from, n);
    co_await yield();
    co_return n;
  }
  awaited letter(int n);
  task<int> read() { co_return co_await when<&ledger::letter>(); }
  void name(callback<std::vector<std::uint64_t>> to) {
    contribute(std::vector<std::uint64_t>{this_index()}, reduction::concatenate(), to);
  }
  void go(int to) { migrate_to(std::size_t(to)); }
  int start() const { return m_start; }
  int count(int from) const { return int(m_notes[std::size_t(from)].size()); }
  std::vector<int> notes(int from) const { return m_notes[std::size_t(from)]; }
  /// Whether each sender's messages are those from 0 to n − 1, in order.
  bool has_all_in_order(int n) const {
    return m_notes == std::vector(speakers, starling_test::numbers(0, n));
  }

 private:
  int m_start = 0;
  int m_every = 0;
  int m_workers = 1;
  int m_steps = 0;
  std::vector<std::vector<int>> m_notes;
};

/// Calls `f` within the run and never returns.
template <class F>
task<> in_vain(F f) {
  promise<> never;
  f();
  co_await never.get_future();
}

chare_array<ledger> ledgers(runtime& rt, int every = 0, int start = 5) {
  return create_sparse_array<ledger>(rt, on_demand(start, every, int(total_worker_count(rt))));
}

struct speaker : chare<speaker> {
  template <class Archive>
  void serialize(Archive&) {}
  /// Sends the messages of this speaker to all ledgers, in two ways, in an order of its own.
  task<> say(chare_array<ledger> to, int count) {
    std::vector<future<int>> answers;
    for (int n = 0; n < count; ++n) {
      for (std::uint64_t i = 0; i < indices; ++i) {
        const std::uint64_t at = (i * 5 + std::uint64_t(this_index())) % indices;
        if ((n + this_index()) % 3 == 0)
          answers.push_back(to[at].call<&ledger::take_and_answer>(this_index(), n));
        else if ((n + this_index()) % 3 == 1)
          answers.push_back(to[at].call<&ledger::take_later>(this_index(), n));
        else
          to[at].invoke<&ledger::take>(this_index(), n);
      }
      if (n % 5 == 4) co_await yield();
    }
    for (std::size_t i = 0; i < answers.size(); ++i) EXPECT_GE(co_await std::move(answers[i]), 0);
  }
};

TEST_P(demand, many_senders_make_one_element_of_each_index_and_lose_no_message) {
  const int count = many(40, 10);
  for (const int every : {0, 5, 1}) {
    for (auto& each : s_made) each = 0;
    const auto all = ledgers(rt, every);
    const auto from = create_array<speaker>(rt, speakers, placement::round_robin);
    rt.sync_wait([](chare_array<speaker> from, chare_array<ledger> all, int count) -> task<> {
      from.invoke<&speaker::say>(all, count);
      co_await quiescence();
      for (std::uint64_t i = 0; i < indices; ++i) {
        EXPECT_EQ(s_made[i], 1) << i;
        EXPECT_TRUE(co_await all[i].call<&ledger::has_all_in_order>(count)) << i;
      }
    }(from, all, count));
    EXPECT_EQ(made_in_all(), int(indices));
  }
}

TEST_P(demand, each_kind_of_message_makes_its_element) {
  const auto all = ledgers(rt);
  rt.sync_wait([](chare_array<ledger> a) -> task<> {
    a[0].invoke<&ledger::take>(0, 3);
    EXPECT_EQ((co_await a[1].call<&ledger::take_and_answer>(0, 4)), 4);
    EXPECT_EQ((co_await a[2].call<&ledger::take_later>(0, 5)), 5);
    a[3].invoke<&ledger::letter>(6);
    a[4].urgent().invoke<&ledger::take>(0, 7);
    a[5].to<&ledger::letter, int>().deliver(8);
    make_section(a, {6, 7}).invoke<&ledger::take>(0, 9);
    co_await quiescence();
    EXPECT_EQ(co_await a[3].call<&ledger::read>(), 6);
    EXPECT_EQ(co_await a[5].call<&ledger::read>(), 8);
    for (std::uint64_t i = 0; i < 8; ++i) {
      EXPECT_EQ(s_made[i], 1) << i;
      EXPECT_EQ(co_await a[i].call<&ledger::start>(), 5) << i;
      EXPECT_EQ(co_await a[i].call<&ledger::count>(0), i == 3 || i == 5 ? 0 : 1) << i;
    }
  }(all));
  EXPECT_EQ(made_in_all(), 8);
}

TEST_P(demand, elements_are_made_where_the_placement_says) {
  stay_in_place(rt, "names the workers of the placement");
  struct last_worker {
    int workers;
    std::size_t operator()(std::uint64_t) const { return std::size_t(workers) - 1; }
  };
  struct place_of : chare<place_of, std::uint64_t> {
    int place() { return int(this_worker()); }
  };
  const auto all = create_sparse_array<place_of>(rt, last_worker{workers()}, on_demand());
  rt.sync_wait([](chare_array<place_of> a, int last) -> task<> {
    for (std::uint64_t i = 0; i < 5; ++i) EXPECT_EQ(co_await a[i].call<&place_of::place>(), last);
  }(all, workers() - 1));
}

TEST_P(demand, reductions_and_broadcasts_reach_the_elements_that_exist_once) {
  const auto all = ledgers(rt, 1);  // every message makes an element migrate
  wait_for([](chare_array<ledger> a) -> task<> {
    std::vector<std::uint64_t> existing;
    std::array<std::vector<int>, indices> broadcasts;
    for (const std::uint64_t until : {1, 5, 6, 12}) {
      while (existing.size() < until) {
        a[existing.size()].invoke<&ledger::take>(0, 0);
        existing.push_back(existing.size());
      }
      co_await quiescence();
      EXPECT_EQ(co_await named(a), existing);
      a.invoke<&ledger::take>(1, int(until));
      for (const std::uint64_t i : existing) broadcasts[i].push_back(int(until));
      co_await quiescence();
      EXPECT_EQ(made_in_all(), int(until));
    }
    for (std::uint64_t i = 0; i < indices; ++i)
      EXPECT_EQ(co_await a[i].call<&ledger::notes>(1), broadcasts[i]) << i;
  }(all));
}

TEST_P(demand, broadcasts_and_direct_access_make_no_element) {
  const auto all = ledgers(rt);
  rt.sync_wait([](chare_array<ledger> a) -> task<> {
    a.invoke<&ledger::take>(0, 1);
    EXPECT_EQ(a[3].local(), nullptr);
    co_await quiescence();
  }(all));
  EXPECT_EQ(made_in_all(), 0);
}

TEST_P(demand, messages_to_missing_elements_are_errors_after_done_inserting) {
  const auto all = ledgers(rt);
  wait_for([](chare_array<ledger> a) -> task<> {
    a[1].invoke<&ledger::take>(0, 0);
    a.done_inserting();
    co_await quiescence();
    EXPECT_EQ(co_await a[1].call<&ledger::count>(0), 1);
    bool is_missing = false;
    try {
      static_cast<void>(co_await a[2].call<&ledger::count>(0));
    } catch (const no_such_element& e) {
      is_missing = std::string(e.what()).find("ledger[2]") != std::string::npos;
    }
    EXPECT_TRUE(is_missing);
  }(all));
  EXPECT_EQ(made_in_all(), 1);
  const std::string text = message_of<entry_error>(
      [&] { rt.sync_wait(in_vain([all] { all[3].invoke<&ledger::take>(0, 0); })); });
  EXPECT_NE(text.find("ledger[3].take"), std::string::npos) << text;
}

TEST_P(demand, inserted_elements_have_arguments_of_their_own) {
  const auto all = ledgers(rt);
  wait_for([](chare_array<ledger> a) -> task<> {
    a.insert(4, 77, 0, 1);
    EXPECT_EQ(co_await a[4].call<&ledger::start>(), 77);
    EXPECT_EQ(co_await a[5].call<&ledger::start>(), 5);
  }(all));
  EXPECT_EQ(made_in_all(), 2);
}

TEST_P(demand, an_insertion_of_an_element_that_a_message_has_made_is_an_error) {
  const auto all = ledgers(rt);
  const std::string text = message_of<entry_error>([&] {
    rt.sync_wait(in_vain([all] {
      all[4].invoke<&ledger::take>(0, 0);
      all.insert(4, 77, 0, 1);
    }));
  });
  EXPECT_NE(text.find("ledger[4].constructor: insert: "), std::string::npos) << text;
}

TEST_P(demand, the_index_of_a_destroyed_element_is_used_again) {
  const auto all = ledgers(rt);
  wait_for([](chare_array<ledger> a) -> task<> {
    for (int round = 1; round < 5; ++round) {
      a[4].invoke<&ledger::take>(0, 0);
      EXPECT_EQ(co_await a[4].call<&ledger::count>(0), 1);
      a[4].destroy();
      co_await quiescence();
      EXPECT_EQ(s_made[4], round);
    }
  }(all));
}

TEST_P(demand, the_index_of_a_destroyed_element_that_has_migrated_is_used_again) {
  const auto all = ledgers(rt);
  wait_for([](chare_array<ledger> a, int workers) -> task<> {
    for (int to = 0; to < workers; ++to) {
      a[4].invoke<&ledger::go>(to);
      a[4].invoke<&ledger::take>(0, to);
      a[4].destroy();
      EXPECT_EQ(co_await a[4].call<&ledger::count>(0), 0);
      EXPECT_EQ(s_made[4], to + 2);
    }
  }(all, workers()));
}

TEST_P(demand, a_destruction_makes_no_element_where_an_earlier_one_had_migrated) {
  const auto all = ledgers(rt);
  const std::string text = message_of<entry_error>([&] {
    rt.sync_wait(in_vain([all, workers = workers()] {
      all[4].invoke<&ledger::go>(workers - 1);
      all[4].invoke<&ledger::go>(0);
      all[4].destroy();
      all[4].destroy();
    }));
  });
  EXPECT_NE(text.find("ledger[4].destroy"), std::string::npos) << text;
  EXPECT_EQ(made_in_all(), 1);
}

TEST_P(demand, a_destruction_makes_no_element) {
  const auto all = ledgers(rt);
  const std::string text =
      message_of<entry_error>([&] { rt.sync_wait(in_vain([all] { all[4].destroy(); })); });
  EXPECT_NE(text.find("ledger[4].destroy"), std::string::npos) << text;
  EXPECT_EQ(made_in_all(), 0);
}

TEST_P(demand, a_destroyed_array_makes_no_elements) {
  const auto all = ledgers(rt);
  wait_for([](chare_array<ledger> a) -> task<> {
    a[1].invoke<&ledger::take>(0, 0);
    a.destroy();
    co_await quiescence();
    for (std::uint64_t i = 0; i < 4; ++i)
      EXPECT_THROW(static_cast<void>(co_await a[i].call<&ledger::count>(0)), no_such_element) << i;
  }(all));
  EXPECT_EQ(made_in_all(), 1);
}

TEST_P(demand, measured_arrays_make_elements_too) {
  const auto all = ledgers(rt);
  rt.sync_wait([](chare_array<ledger> a) -> task<> {
    a.measure_loads(true);
    co_await quiescence();
    for (std::uint64_t i = 0; i < indices; ++i) a[i].invoke<&ledger::take>(0, 0);
    co_await quiescence();
    for (std::uint64_t i = 0; i < indices; ++i) EXPECT_EQ(co_await a[i].call<&ledger::count>(0), 1);
  }(all));
  EXPECT_EQ(made_in_all(), int(indices));
}

struct fragile : chare<fragile, std::uint64_t> {
  fragile() {
    if (this_index() == 3) throw std::range_error("no such place");
  }
  int nothing() { return 0; }
};

TEST_P(demand, an_exception_of_a_constructor_ends_the_run) {
  const auto all = create_sparse_array<fragile>(rt, on_demand());
  const std::string text = message_of<entry_error>([&] {
    rt.sync_wait([](chare_array<fragile> a) -> task<> {
      EXPECT_EQ(co_await a[2].call<&fragile::nothing>(), 0);
      static_cast<void>(co_await a[3].call<&fragile::nothing>());
    }(all));
  });
  EXPECT_NE(text.find("fragile[3].constructor"), std::string::npos) << text;
  EXPECT_NE(text.find("no such place"), std::string::npos) << text;
}

/// Elements that demand each other from their constructors: a tree of messages.
struct sprout : chare<sprout, std::uint64_t> {
  explicit sprout(std::uint64_t most) {
    for (const std::uint64_t child : {2 * this_index(), 2 * this_index() + 1})
      if (child < most) this_array()[child].invoke<&sprout::grow>();
  }
  explicit sprout(migrated) {}
  template <class Archive>
  void serialize(Archive& ar) {
    ar(m_grown);
  }
  void grow() { ++m_grown; }
  /// Contributes its index once for each message that has reached it.
  void name(callback<std::vector<std::uint64_t>> to) {
    const std::vector<std::uint64_t> mine(std::size_t(m_grown), this_index());
    contribute(mine, reduction::concatenate(), to);
  }

 private:
  int m_grown = 0;
};

TEST_P(demand, constructors_demand_further_elements) {
  const std::uint64_t most = std::uint64_t(many(2000, 200));
  const auto all = create_sparse_array<sprout>(rt, on_demand(most));
  std::vector<std::uint64_t> expected(most - 1);
  std::iota(expected.begin(), expected.end(), 1);
  rt.sync_wait([](chare_array<sprout> a, const std::vector<std::uint64_t>& expected) -> task<> {
    a[1].invoke<&sprout::grow>();
    co_await quiescence();
    EXPECT_EQ(co_await named(a), expected);
  }(all, expected));
}

}  // namespace
}  // namespace starling
