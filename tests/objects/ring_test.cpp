// SPDX-License-Identifier: Apache-2.0
// Rings: messages around groups, arrays and pairs of arrays, one at a time and many at once.
#include <gtest/gtest.h>

#include <starling/core.hpp>
#include <starling/objects.hpp>

#include "on_ranks.hpp"

namespace starling {
namespace {

using starling_test::many;

class rings : public starling_test::on_ranks {};
INSTANTIATE_TEST_SUITE_P(on, rings, starling_test::some_ranks, starling_test::ranks_name);

struct link : chare<link> {
  template <class Archive>
  void serialize(Archive& ar) {
    ar(m_passed);
  }
  void pass(int left, callback<int> done) {
    ++m_passed;
    const int next = (this_index() + 1) % this_array().extent().extent();
    if (left == 0)
      done.deliver(int(this_index()));
    else
      this_array()[next].invoke<&link::pass>(left - 1, done);
  }
  int passed() const { return m_passed; }

 private:
  int m_passed = 0;
};

task<int> go_round(chare_array<link> ring, int start, int steps) {
  auto [to, last] = make_reply<int>();
  ring[start].invoke<&link::pass>(steps, to);
  co_return co_await std::move(last);
}

TEST_P(rings, of_a_group_visit_every_worker) {
  const int laps = many(200, 20);
  const auto group = create_group<link>(rt);
  const int n = group.extent().extent();
  EXPECT_EQ(n, int(total_worker_count(rt)));
  EXPECT_EQ(rt.sync_wait(go_round(group, 0, laps * n - 1)), n - 1);
  for (int i = 0; i < n; ++i) EXPECT_EQ(rt.sync_wait(group[i].call<&link::passed>()), laps);
}

TEST_P(rings, of_an_array_visit_every_element_in_any_placement) {
  for (const placement how : {placement::block, placement::round_robin}) {
    const auto ring = create_array<link>(rt, 37, how);
    EXPECT_EQ(rt.sync_wait(go_round(ring, 5, 37 * 10)), 5);
    EXPECT_EQ(rt.sync_wait(ring[5].call<&link::passed>()), 11);
    EXPECT_EQ(rt.sync_wait(ring[4].call<&link::passed>()), 10);
  }
}

TEST_P(rings, pass_many_tokens_at_once) {
  constexpr int elements = 40;
  const auto ring = create_array<link>(rt, elements, placement::round_robin);
  const auto other = create_array<link>(rt, elements, placement::block);
  const int steps = elements * many(50, 3);
  rt.sync_wait([](chare_array<link> a, chare_array<link> b, int steps) -> task<> {
    std::vector<future<int>> ends;
    for (int i = 0; i < elements; ++i) {
      ends.push_back(spawn(go_round(a, i, steps)));
      ends.push_back(spawn(go_round(b, i, steps)));
    }
    for (int i = 0; i < elements; ++i) {
      EXPECT_EQ(co_await std::move(ends[2 * std::size_t(i)]), i);
      EXPECT_EQ(co_await std::move(ends[2 * std::size_t(i) + 1]), i);
    }
    for (int i = 0; i < elements; ++i) EXPECT_EQ(co_await a[i].call<&link::passed>(), steps + 1);
  }(ring, other, steps));
}

/// A ring whose members await the token, each in one coroutine.
struct runner : chare<runner> {
  template <class Archive>
  void serialize(Archive&) {}
  awaited token(int lap, long value);
  task<long> run(int laps) {
    const int n = this_array().extent().extent();
    long value = 0;
    for (int lap = 0; lap < laps; ++lap) {
      value = co_await when<&runner::token>(lap) + this_index();
      if (this_index() + 1 < n)
        this_array()[this_index() + 1].invoke<&runner::token>(lap, value);
      else if (lap + 1 < laps)
        this_array()[0].invoke<&runner::token>(lap + 1, value);
    }
    co_return value;
  }
};

TEST_P(rings, of_coroutines_await_their_token) {
  const int laps = many(100, 10);
  const auto ring = create_array<runner>(rt, 20, placement::round_robin);
  rt.sync_wait([](chare_array<runner> all, int laps) -> task<> {
    std::vector<future<long>> ends;
    for (int i = 0; i < 20; ++i) ends.push_back(all[i].call<&runner::run>(laps));
    all[0].invoke<&runner::token>(0, 1000L);
    for (int i = 0; i < 20; ++i)
      EXPECT_EQ(co_await std::move(ends[std::size_t(i)]),
                1000 + (laps - 1) * 190 + i * (i + 1) / 2);
  }(ring, laps));
}

struct pong;
/// Two arrays of different types; each receives the proxy of the other array in a message.
struct ping : chare<ping, index2> {
  template <class Archive>
  void serialize(Archive&) {}
  void serve(chare_array<pong> others, int left, callback<int> done);
};
struct pong : chare<pong, index2> {
  template <class Archive>
  void serialize(Archive&) {}
  void answer(chare_array<ping> others, int left, callback<int> done) {
    others[{this_index().y, this_index().x}].invoke<&ping::serve>(this_array(), left - 1, done);
  }
};
void ping::serve(chare_array<pong> others, int left, callback<int> done) {
  if (left <= 0) return done.deliver(10 * this_index().x + this_index().y);
  others[{this_index().y, this_index().x}].invoke<&pong::answer>(this_array(), left - 1, done);
}

TEST_P(rings, pass_between_arrays_of_two_types) {
  const auto pings = create_array<ping>(rt, index2{3, 4}, placement::block);
  const auto pongs = create_array<pong>(rt, index2{4, 3}, placement::round_robin);
  rt.sync_wait([](chare_array<ping> a, chare_array<pong> b) -> task<> {
    std::vector<future<int>> ends;
    for (int x = 0; x < 3; ++x)
      for (int y = 0; y < 4; ++y) {
        auto [to, end] = make_reply<int>();
        a[{x, y}].invoke<&ping::serve>(b, 100, to);
        ends.push_back(std::move(end));
      }
    for (int i = 0; i < 12; ++i)
      EXPECT_EQ(co_await std::move(ends[std::size_t(i)]), 10 * (i / 4) + i % 4);
  }(pings, pongs));
}

/// Each row and each column of a grid is a ring.
struct crossing : chare<crossing, index2> {
  template <class Archive>
  void serialize(Archive&) {}
  void along(bool rows, int left, callback<int> done) {
    if (left == 0) return done.deliver(int(rows));
    const index2 n = this_array().extent().extent();
    const index2 to = rows ? index2{(this_index().x + 1) % n.x, this_index().y}
                           : index2{this_index().x, (this_index().y + 1) % n.y};
    this_array()[to].invoke<&crossing::along>(rows, left - 1, done);
  }
};

TEST_P(rings, cross_each_other) {
  const auto grid = create_array<crossing>(rt, index2{6, 7}, placement::round_robin);
  rt.sync_wait([](chare_array<crossing> all, int steps) -> task<> {
    std::vector<future<int>> ends;
    for (int i = 0; i < 6; ++i) {
      auto [row, row_end] = make_reply<int>();
      auto [column, column_end] = make_reply<int>();
      all[{0, i}].invoke<&crossing::along>(true, steps, row);
      all[{i, 0}].invoke<&crossing::along>(false, steps, column);
      ends.push_back(std::move(row_end));
      ends.push_back(std::move(column_end));
    }
    int sum = 0;
    for (auto& end : ends) sum += co_await std::move(end);
    EXPECT_EQ(sum, 6);
  }(grid, many(500, 50)));
}

}  // namespace
}  // namespace starling
