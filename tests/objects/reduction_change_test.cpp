// SPDX-License-Identifier: Apache-2.0
// Reductions and broadcasts while elements are inserted and deleted.
#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include <starling/core.hpp>
#include <starling/objects.hpp>

#include "names.hpp"
#include "on_ranks.hpp"

namespace starling {
namespace {

using starling_test::many;
using starling_test::named;
using starling_test::numbers;

class changing_arrays : public starling_test::on_ranks {
 protected:
  /// Messages are ordered by sending thread: a stealable task could overtake its own messages.
  template <class T>
  T wait_for(task<T> t) {
    return rt.sync_wait(rt.on_worker(0).spawn(std::move(t)));
  }
};
INSTANTIATE_TEST_SUITE_P(on, changing_arrays, starling_test::some_ranks, starling_test::ranks_name);

struct guest : chare<guest> {
  template <class Archive>
  void serialize(Archive& ar) {
    ar(m_noted);
  }
  void count(callback<int> to) { contribute(1, reduction::sum{}, to); }
  void name(callback<std::vector<int>> to) {
    contribute(std::vector<int>{this_index()}, reduction::concatenate{}, to);
  }
  task<int> agree() { co_return co_await reduce(this_index(), reduction::min{}); }
  void leave() { this_element().destroy(); }
  void note(int number) { m_noted.push_back(number); }
  std::vector<int> noted() const { return m_noted; }

 private:
  std::vector<int> m_noted;
};

task<int> counted(chare_array<guest> a) {
  auto [to, sum] = make_reply<int>();
  a.invoke<&guest::count>(to);
  co_return co_await std::move(sum);
}

TEST_P(changing_arrays, reduce_over_the_existing_elements) {
  const auto hotel = create_empty_array<guest>(rt, 60, placement::round_robin);
  wait_for([](chare_array<guest> a) -> task<> {
    for (int i = 0; i < 60; i += 2) a.insert(i);
    co_await quiescence();  // they are inserted, on the remaining ranks too
    EXPECT_EQ(co_await counted(a), 30);
    EXPECT_EQ(co_await named(a), numbers(0, 60, 2));
    for (int i = 1; i < 60; i += 2) a.insert(i);
    co_await quiescence();
    EXPECT_EQ(co_await counted(a), 60);
    for (int i = 0; i < 60; i += 3) a[i].destroy();
    EXPECT_EQ(co_await counted(a), 40);
    std::vector<int> left = numbers(0, 60);
    std::erase_if(left, [](int i) { return i % 3 == 0; });
    EXPECT_EQ(co_await named(a), left);
    for (int i = 0; i < 60; i += 3) a.insert(i);
    co_await quiescence();
    EXPECT_EQ(co_await counted(a), 60);
    EXPECT_EQ(co_await named(a), numbers(0, 60));
  }(hotel));
}

TEST_P(changing_arrays, reduce_when_all_elements_of_a_worker_are_deleted) {
  const auto hotel = create_empty_array<guest>(rt, 8, placement::block);
  wait_for([](chare_array<guest> a) -> task<> {
    a.insert(7);
    co_await quiescence();
    for (int i = 0; i < 20; ++i) {
      EXPECT_EQ(co_await named(a), numbers(7, 8));
      a.insert(i % 7);
      co_await quiescence();
      const std::vector<int> both{i % 7, 7};
      EXPECT_EQ(co_await named(a), both);
      a[i % 7].destroy();
    }
  }(hotel));
}

TEST_P(changing_arrays, finish_reductions_without_contributions_of_deleted_elements) {
  const auto hotel = create_empty_array<guest>(rt, 20, placement::round_robin);
  wait_for([](chare_array<guest> a) -> task<> {
    for (int i = 0; i < 20; ++i) a.insert(i);
    std::vector<future<int>> least;
    for (int i = 5; i < 20; ++i) least.push_back(a[i].call<&guest::agree>());
    co_await quiescence();  // the first five have not been called
    for (const auto& each : least) EXPECT_FALSE(each.is_ready());
    for (int i = 0; i < 5; ++i) a[i].destroy();
    for (auto& each : least) EXPECT_EQ(co_await std::move(each), 5);
  }(hotel));
}

TEST_P(changing_arrays, use_contributions_of_elements_deleted_before_the_result) {
  const auto hotel = create_empty_array<guest>(rt, 20, placement::block);
  wait_for([](chare_array<guest> a) -> task<> {
    for (int i = 0; i < 20; ++i) a.insert(i);
    co_await quiescence();
    auto [to, names] = make_reply<std::vector<int>>();
    for (int i = 0; i < 19; ++i) {
      a[i].invoke<&guest::name>(to);
      a[i].invoke<&guest::leave>();
    }
    co_await quiescence();
    a[19].invoke<&guest::name>(to);
    std::vector<int> all = co_await std::move(names);
    std::ranges::sort(all);
    EXPECT_EQ(all, numbers(0, 20));
    EXPECT_EQ(co_await named(a), numbers(19, 20));
  }(hotel));
}

TEST_P(changing_arrays, broadcast_to_each_existing_element_once) {
  const auto hotel = create_empty_array<guest>(rt, 200, placement::round_robin);
  const int rounds = many(50, 5);
  wait_for([](chare_array<guest> a, int rounds) -> task<> {
    for (int i = 0; i < 100; ++i) a.insert(i);
    for (int r = 0; r < rounds; ++r) {
      a.invoke<&guest::note>(r);
      a.insert(100 + r);  // takes part from the next round on
      a[r].destroy();     // has received all earlier broadcasts
    }
    co_await quiescence();
    for (int i = rounds; i < 100; ++i)
      EXPECT_EQ(co_await a[i].call<&guest::noted>(), numbers(0, rounds)) << i;
    for (int r = 0; r < rounds; ++r)
      EXPECT_EQ(co_await a[100 + r].call<&guest::noted>(), numbers(r + 1, rounds)) << 100 + r;
    EXPECT_EQ(co_await named(a), numbers(rounds, 100 + rounds));
  }(hotel, rounds));
}

/// Inserts and deletes elements in entry methods during broadcasts.
struct cell : chare<cell, std::string> {
  explicit cell(int generation) : m_generation(generation) {}
  explicit cell(migrated) {}
  template <class Archive>
  void serialize(Archive& ar) {
    ar(m_generation);
  }
  /// A daughter may be inserted before the broadcast arrives that made her mother divide.
  void divide(int generation) {
    if (m_generation != generation) return;
    this_array().insert(this_index() + "a", m_generation + 1);
    this_array().insert(this_index() + "b", m_generation + 1);
    this_element().destroy();
  }
  void name(callback<std::vector<std::string>> to) {
    contribute(std::vector<std::string>{this_index()}, reduction::concatenate{}, to);
  }

 private:
  int m_generation = 0;
};

TEST_P(changing_arrays, double_at_every_broadcast_that_makes_them_divide) {
  const auto colony = create_sparse_array<cell>(rt);
  const int generations = many(9, 5);
  wait_for([](chare_array<cell> a, int generations) -> task<> {
    a.insert("", 0);
    std::vector<std::string> expected{""};
    for (int g = 0; g < generations; ++g) {
      a.invoke<&cell::divide>(g);
      co_await quiescence();
      std::vector<std::string> daughters;  // in order, as their mothers are
      for (const std::string& mother : expected)
        for (const char* which : {"a", "b"}) daughters.push_back(mother + which);
      expected = std::move(daughters);
      auto [to, names] = make_reply<std::vector<std::string>>();
      a.invoke<&cell::name>(to);
      std::vector<std::string> all = co_await std::move(names);
      std::ranges::sort(all);
      EXPECT_EQ(all, expected);
    }
  }(colony, generations));
}

/// Coroutines that reduce in every round, and an element that joins or leaves in each.
struct roundabout : chare<roundabout> {
  template <class Archive>
  void serialize(Archive& ar) {
    ar(m_least, m_most, m_done);
  }
  task<> run(int rounds) {
    for (int r = 0; r < rounds; ++r) {
      const int there = co_await reduce(1, reduction::sum{});
      m_least = std::min(m_least, there);
      m_most = std::max(m_most, there);
    }
    m_done = true;
  }
  void count(callback<int> to) { contribute(m_done ? 1 : 1000, reduction::sum{}, to); }
  int least() const { return m_least; }
  int most() const { return m_most; }

 private:
  int m_least = 1 << 20;
  int m_most = 0;
  bool m_done = false;
};

TEST_P(changing_arrays, delete_elements_that_wait_in_a_reduction) {
  const auto all = create_empty_array<roundabout>(rt, 30, placement::round_robin);
  const int rounds = many(100, 20);
  wait_for([](chare_array<roundabout> a, int rounds) -> task<> {
    for (int i = 0; i < 30; ++i) a.insert(i);
    co_await quiescence();
    a.invoke<&roundabout::run>(rounds);
    for (int i = 0; i < 10; ++i) {
      a[i].destroy();
      co_await yield();
    }
    co_await quiescence();
    auto [to, done] = make_reply<int>();
    a.invoke<&roundabout::count>(to);
    EXPECT_EQ(co_await std::move(done), 20);
    for (int i = 10; i < 30; ++i) {
      EXPECT_GE(co_await a[i].call<&roundabout::least>(), 20);
      EXPECT_LE(co_await a[i].call<&roundabout::most>(), 30);
    }
  }(all, rounds));
}

}  // namespace
}  // namespace starling
