// SPDX-License-Identifier: Apache-2.0
// Arrays of every shape and placement: each element exists once, on the worker the placement gives.
#include <functional>
#include <map>
#include <set>
#include <stdexcept>

#include <gtest/gtest.h>

#include <starling/core.hpp>
#include <starling/objects.hpp>

#include "on_ranks.hpp"

namespace {

/// A user-defined index.
struct edge {
  int from;
  int to;
  friend bool operator==(const edge&, const edge&) = default;
};
std::string to_string(const edge& e) {
  return std::to_string(e.from) + "->" + std::to_string(e.to);
}

}  // namespace

template <>
struct std::hash<edge> {
  std::size_t operator()(const edge& e) const noexcept {
    return std::size_t(e.from) * 1000003u + std::size_t(e.to);
  }
};

namespace starling {
namespace {

using starling_test::first_rank;
using starling_test::message_of;
using starling_test::stay_in_place;

class shapes : public starling_test::on_ranks {};
INSTANTIATE_TEST_SUITE_P(on, shapes, starling_test::some_ranks, starling_test::ranks_name);

/// An element's index and its worker.
template <class Index>
struct place {
  Index index;
  int worker;
};

template <class Index>
struct placed : chare<placed<Index>, Index> {
  void tell(callback<std::vector<place<Index>>> to) {
    this->contribute(std::vector<place<Index>>{{this->this_index(), int(worker_number())}},
                     reduction::concatenate{}, to);
  }
  Index index() const { return this->this_index(); }
};

template <class Index>
std::vector<place<Index>> places(first_rank& rt, const chare_array<placed<Index>>& all) {
  auto [to, where] = make_reply<std::vector<place<Index>>>();
  all.template invoke<&placed<Index>::tell>(to);
  return rt.sync_wait(std::move(where));
}

/// Expects every element of `extent` once, on the worker `worker_of(number)`.
template <class Index, class Map>
void expect_everywhere(first_rank& rt, const chare_array<placed<Index>>& all,
                       const shape<Index>& extent, Map worker_of) {
  EXPECT_EQ(all.extent(), extent);
  const auto found = places(rt, all);
  std::set<std::size_t> numbers;
  for (const auto& p : found) {
    ASSERT_TRUE(extent.contains(p.index));
    const std::size_t number = extent.number_of(p.index);
    numbers.insert(number);
    EXPECT_EQ(std::size_t(p.worker), worker_of(number)) << number;
    EXPECT_EQ(extent.index_of(number), p.index);
  }
  EXPECT_EQ(found.size(), extent.size());
  EXPECT_EQ(numbers.size(), extent.size());
  for (std::size_t n = 0; n < extent.size(); n += 7) {
    const Index i = extent.index_of(n);
    EXPECT_EQ(rt.sync_wait(all[i].template call<&placed<Index>::index>()), i);
  }
}

/// User-defined placements: they hold plain numbers, so that they can be sent to other ranks.
struct on_one {
  std::size_t worker;
  template <class Index>
  std::size_t operator()(const Index&, std::uint64_t) const {
    return worker;
  }
};
struct by_square {
  std::size_t workers;
  template <class Index>
  std::size_t operator()(const Index&, std::uint64_t n) const {
    return n * n % workers;
  }
};
struct by_column {
  std::size_t workers;
  std::size_t operator()(const index2& i, std::uint64_t) const {
    return std::size_t(i.x) % workers;
  }
};
struct by_start {
  std::size_t workers;
  std::size_t operator()(const edge& e) const { return std::size_t(e.from) % workers; }
};
struct third_beyond {
  std::size_t workers;
  std::size_t operator()(int i, std::uint64_t) const { return i == 3 ? workers : 0; }
};
struct seven_beyond {
  std::size_t workers;
  std::size_t operator()(const edge& e) const { return e.from == 7 ? workers : 0; }
};

template <class Index>
void expect_all_placements(first_rank& rt, const Index& size) {
  const shape<Index> extent(size);
  const std::size_t workers = total_worker_count(rt);
  expect_everywhere(rt, create_array<placed<Index>>(rt, extent, placement::round_robin), extent,
                    [=](std::size_t n) { return n % workers; });
  expect_everywhere(rt, create_array<placed<Index>>(rt, extent, placement::block), extent,
                    [=](std::size_t n) { return n * workers / extent.size(); });
  expect_everywhere(rt, create_array<placed<Index>>(rt, extent, on_one{workers - 1}), extent,
                    [=](std::size_t) { return workers - 1; });
  expect_everywhere(rt, create_array<placed<Index>>(rt, extent, by_square{workers}), extent,
                    [=](std::size_t n) { return n * n % workers; });
}

TEST_P(shapes, of_one_to_four_dimensions_in_every_placement) {
  stay_in_place(rt, "names the workers of the placement");
  expect_all_placements(rt, 1);
  expect_all_placements(rt, 3);
  expect_all_placements(rt, 101);
  expect_all_placements(rt, index2{7, 11});
  expect_all_placements(rt, index2{1, 5});
  expect_all_placements(rt, index3{3, 4, 5});
  expect_all_placements(rt, index3{1, 1, 1});
  expect_all_placements(rt, index4{2, 3, 4, 5});
}

TEST_P(shapes, may_be_mapped_by_the_users_function_of_the_index) {
  stay_in_place(rt, "names the workers of the placement");
  const std::size_t workers = total_worker_count(rt);
  const auto all = create_array<placed<index2>>(rt, index2{9, 4}, by_column{workers});
  for (const auto& p : places(rt, all)) EXPECT_EQ(std::size_t(p.worker), p.index.x % workers);
}

TEST_P(shapes, may_be_written_in_braces) {
  const int n = 3;
  EXPECT_EQ((create_array<placed<index2>>(rt, {n, 4}, placement::block).extent()),
            shape<index2>(index2{3, 4}));
  EXPECT_EQ((create_array<placed<index3>>(rt, {n, 4, 5}, placement::round_robin).extent()),
            shape<index3>(index3{3, 4, 5}));
  EXPECT_EQ((create_empty_array<placed<index4>>(rt, {n, 4, 5, 6}, placement::block).extent()),
            shape<index4>(index4{3, 4, 5, 6}));
  const std::size_t workers = total_worker_count(rt);
  EXPECT_EQ((create_array<placed<index2>>(rt, {n, 2}, by_column{workers}).extent()),
            shape<index2>(index2{3, 2}));
}

TEST_P(shapes, without_elements_or_on_workers_that_do_not_exist_are_refused) {
  EXPECT_THROW(static_cast<void>(create_array<placed<int>>(rt, 0, placement::block)), usage_error);
  EXPECT_THROW(static_cast<void>(create_array<placed<int>>(rt, -3, placement::block)), usage_error);
  EXPECT_THROW(
      static_cast<void>(create_array<placed<index2>>(rt, index2{4, 0}, placement::round_robin)),
      usage_error);
  EXPECT_THROW(
      static_cast<void>(create_empty_array<placed<index3>>(rt, index3{}, placement::block)),
      usage_error);
  const std::size_t workers = total_worker_count(rt);
  const third_beyond beyond{workers};
  const std::string text =
      message_of<usage_error>([&] { static_cast<void>(create_array<placed<int>>(rt, 5, beyond)); });
  EXPECT_NE(text.find("worker " + std::to_string(workers)), std::string::npos) << text;
}

TEST(a_map_of_an_array, is_no_null_function) {
  runtime rt(starling_test::options_with(1));
  const std::function<std::size_t(int, std::uint64_t)> none;
  EXPECT_THROW(static_cast<void>(create_array<placed<int>>(rt, 5, none)), usage_error);
}

TEST_P(shapes, name_indices_outside_of_them) {
  const auto all = create_array<placed<index3>>(rt, index3{2, 3, 4}, placement::block);
  for (const index3 i : {index3{2, 0, 0}, index3{0, 3, 0}, index3{0, 0, 4}, index3{0, -1, 0}})
    EXPECT_THROW(static_cast<void>(all[i]), usage_error);
  const std::string text = message_of<usage_error>([&] { static_cast<void>(all[{1, 5, 0}]); });
  EXPECT_NE(text.find("(1, 5, 0)"), std::string::npos) << text;
  EXPECT_NE(text.find("(2, 3, 4)"), std::string::npos) << text;
}

TEST_P(shapes, of_groups_have_one_element_on_each_worker) {
  stay_in_place(rt, "names the workers of the placement");
  const auto group = create_group<placed<int>>(rt);
  const auto found = places(rt, group);
  EXPECT_EQ(found.size(), total_worker_count(rt));
  for (const auto& p : found) EXPECT_EQ(p.index, p.worker);
}

struct road : chare<road, edge> {
  explicit road(double length) : m_length(length) {}
  double length() const { return m_length; }
  int worker() const { return int(worker_number()); }
  void close() { throw std::runtime_error("closed"); }

 private:
  double m_length;
};

TEST_P(shapes, may_be_sparse_with_the_users_indices) {
  stay_in_place(rt, "names the workers of the placement");
  const std::size_t workers = total_worker_count(rt);
  const auto roads = create_sparse_array<road>(rt, by_start{workers});
  rt.sync_wait([](chare_array<road> r, int workers) -> task<> {
    for (int a = 0; a < 12; ++a)
      for (int b = 0; b < a; ++b) r.insert(edge{a, b}, a + b / 100.0);
    for (int a = 0; a < 12; ++a)
      for (int b = 0; b < a; ++b) {
        const edge e{a, b};
        EXPECT_EQ(co_await r[e].call<&road::length>(), a + b / 100.0);
        EXPECT_EQ(co_await r[e].call<&road::worker>(), a % workers);
        EXPECT_EQ(r[e].index(), e);
      }
  }(roads, int(workers)));
  const std::string text = message_of<entry_error>([&] {
    rt.sync_wait([](chare_array<road> r) -> task<> {
      promise<> never;
      r[edge{3, 1}].invoke<&road::close>();
      co_await never.get_future();
    }(roads));
  });
  EXPECT_NE(text.find("road[3->1].close: closed"), std::string::npos) << text;
}

TEST_P(shapes, that_are_sparse_refuse_workers_that_do_not_exist) {
  const std::size_t workers = total_worker_count(rt);
  const auto roads = create_sparse_array<road>(rt, seven_beyond{workers});
  roads.insert(edge{1, 2}, 1.0);
  EXPECT_EQ(rt.sync_wait(roads[edge{1, 2}].call<&road::length>()), 1.0);
  const std::string text = message_of<usage_error>([&] { static_cast<void>(roads[edge{7, 2}]); });
  EXPECT_NE(text.find("worker " + std::to_string(workers)), std::string::npos) << text;
}

/// Elements create further arrays and return their counts.
struct builder : chare<builder> {
  task<int> build(int depth) {
    if (depth == 0) co_return 1;
    const auto below = create_array<builder>(*runtime::current(), 2, placement::round_robin);
    auto a = below[0].call<&builder::build>(depth - 1);
    auto b = below[1].call<&builder::build>(depth - 1);
    co_return co_await std::move(a) + co_await std::move(b);
  }
};

TEST_P(shapes, may_be_used_by_elements_of_other_arrays) {
  const auto all = create_array<builder>(rt, 3, placement::block);
  EXPECT_EQ(rt.sync_wait(all[2].call<&builder::build>(starling_test::many(6, 3))),
            starling_test::many(64, 8));
}

TEST(two_runtimes, one_after_the_other_are_independent) {
  for (int repeat = 0; repeat < 5; ++repeat) {
    first_rank rt({1, 1 + unsigned(repeat % 3)});
    const auto all = create_array<placed<int>>(rt, 20, placement::round_robin);
    EXPECT_EQ(places(rt, all).size(), 20u);
  }
}

struct envoy : chare<envoy> {
  void visit(chare_array<envoy> abroad, int left, callback<int> home) {
    ++m_visits;
    if (left == 0) return home.deliver(int(this_index()));
    const int n = abroad.extent().extent();
    abroad[(this_index() + 1) % n].invoke<&envoy::visit>(this_array(), left - 1, std::move(home));
  }
  int visits() const { return m_visits; }

 private:
  int m_visits = 0;
};

TEST(two_runtimes, at_the_same_time_do_not_disturb_each_other) {
  runtime one(starling_test::options_with(2));
  runtime two(starling_test::options_with(2));
  const auto here = create_array<envoy>(one, 6, placement::round_robin);
  const auto there = create_array<envoy>(two, 6, placement::block);
  for (int i = 0; i < 10; ++i) {
    auto [to_here, end_here] = make_reply<int>();
    auto [to_there, end_there] = make_reply<int>();
    here[0].invoke<&envoy::visit>(here, 100, to_here);
    there[1].invoke<&envoy::visit>(there, 100, to_there);
    EXPECT_EQ(one.sync_wait(std::move(end_here)), 100 % 6);
    EXPECT_EQ(two.sync_wait(std::move(end_there)), 101 % 6);
  }
}

TEST(two_runtimes, at_the_same_time_send_to_each_other) {
  runtime one(starling_test::options_with(2));
  runtime two(starling_test::options_with(2));
  const external_work one_waits = one.hold_external_work();
  const external_work two_waits = two.hold_external_work();
  const auto here = create_array<envoy>(one, 6, placement::round_robin);
  const auto there = create_array<envoy>(two, 6, placement::block);
  auto [to, end] = make_reply<int>();
  here[0].invoke<&envoy::visit>(there, 1000, to);
  EXPECT_EQ(one.sync_wait(std::move(end)), 1000 % 6);
}

}  // namespace
}  // namespace starling
