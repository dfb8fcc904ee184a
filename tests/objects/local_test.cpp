// SPDX-License-Identifier: Apache-2.0
// element::local: direct access to an element on the calling worker.
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <starling/core.hpp>
#include <starling/objects.hpp>

#include "on_ranks.hpp"

namespace starling {
namespace {

using starling_test::cluster;
using starling_test::many;
using starling_test::message_of;
using starling_test::options_with;
using starling_test::over_ucx;
using starling_test::stay_in_place;

class local_access : public starling_test::on_ranks {
 protected:
  [[nodiscard]] int workers() { return int(total_worker_count(rt)); }
};
INSTANTIATE_TEST_SUITE_P(on, local_access,
                         testing::Values(cluster{1, 1}, cluster{1, 2}, cluster{1, 4}, cluster{2, 1},
                                         cluster{2, 2}, cluster{3, 1}, over_ucx({2, 1})),
                         starling_test::ranks_name);

template <class Index>
struct tenant : chare<tenant<Index>, Index> {
  using base = chare<tenant<Index>, Index>;

  tenant() { EXPECT_EQ(this->this_element().local(), nullptr) << "in its constructor"; }
  explicit tenant(migrated) {}
  template <class Archive>
  void serialize(Archive& ar) {
    ar(m_visits);
  }

  void visit() { ++m_visits; }
  int visits() const { return m_visits; }
  int place() { return int(this->this_worker()); }
  void go(int to) { this->migrate_to(std::size_t(to)); }
  void before_migration() { EXPECT_EQ(this->this_element().local(), this); }
  void after_migration() { EXPECT_EQ(this->this_element().local(), this); }
  awaited letter();
  /// Keeps the object, as a coroutine of it continues after its destruction.
  task<bool> is_found_when_cancelled() {
    try {
      co_await base::template when<&tenant::letter>();
    } catch (const operation_cancelled&) {
    }
    co_return this->this_element().local() != nullptr;
  }

 private:
  int m_visits = 0;
};

using numbered = tenant<int>;
using named = tenant<std::string>;

/// One on each worker.
struct doorkeeper : chare<doorkeeper> {
  /// Visits the elements on this worker directly and returns their positions in `all`.
  template <class Index>
  std::vector<int> visit(const std::vector<element<tenant<Index>>>& all) {
    std::vector<int> found;
    for (std::size_t i = 0; i < all.size(); ++i)
      if (tenant<Index>* const here = all[i].local(); here != nullptr) {
        EXPECT_EQ(here->place(), int(this_worker()));
        here->visit();
        found.push_back(int(i));
      }
    return found;
  }
};

template <class Index>
using elements = std::vector<element<tenant<Index>>>;

/// Returns the worker on which each element is found; −1: none, −2: several.
template <class Index>
task<std::vector<int>> workers_of(chare_array<doorkeeper> at, elements<Index> all) {
  std::vector<int> found(all.size(), -1);
  for (int w = 0; w < at.extent().extent(); ++w)
    for (const int i : co_await at[w].call<&doorkeeper::visit<Index>>(all))
      found[std::size_t(i)] = found[std::size_t(i)] == -1 ? w : -2;
  co_return found;
}

elements<int> elements_of(const chare_array<numbered>& all) {
  elements<int> result;
  for (int i = 0; i < all.extent().extent(); ++i) result.push_back(all[i]);
  return result;
}

/// A map to the last two workers.
struct on_last_two {
  int workers;
  std::size_t operator()(int i, std::uint64_t) const {
    return std::size_t(workers - 1 - (workers > 1 ? i % 2 : 0));
  }
};

TEST_P(local_access, finds_each_element_on_the_worker_of_its_placement_only) {
  stay_in_place(rt, "names the workers of the placement");
  const auto at = create_group<doorkeeper>(rt);
  for (const auto& all : {create_array<numbered>(rt, 11, placement::block),
                          create_array<numbered>(rt, 11, placement::round_robin),
                          create_array<numbered>(rt, 11, on_last_two{workers()})}) {
    rt.wait_idle();  // the elements are made by messages
    const auto found = rt.sync_wait(workers_of(at, elements_of(all)));
    for (int i = 0; i < 11; ++i)
      EXPECT_EQ(found[std::size_t(i)], int(all.state().table().worker_of(std::uint32_t(i)))) << i;
  }
}

TEST_P(local_access, follows_elements_that_migrate_away_and_back) {
  stay_in_place(rt, "names the workers");
  const auto at = create_group<doorkeeper>(rt);
  const auto all = create_array<numbered>(rt, 5, placement::round_robin);
  rt.sync_wait([](chare_array<doorkeeper> at, chare_array<numbered> all, int n) -> task<> {
    const int hops = 2 * n;
    for (int hop = 0; hop <= hops; ++hop) {
      for (int i = 0; i < 5; ++i) all[i].invoke<&numbered::go>((i + hop) % n);
      co_await quiescence();
      const std::vector<int> found = co_await workers_of(at, elements_of(all));
      for (int i = 0; i < 5; ++i) EXPECT_EQ(found[std::size_t(i)], (i + hop) % n) << i;
    }
    for (int i = 0; i < 5; ++i) EXPECT_EQ(co_await all[i].call<&numbered::visits>(), hops + 1);
  }(at, all, workers()));
}

TEST_P(local_access, yields_null_before_an_insertion_and_after_a_destruction) {
  stay_in_place(rt, "names the workers of the placement");
  const auto at = create_group<doorkeeper>(rt);
  const auto all = create_sparse_array<named>(rt);
  rt.sync_wait([](chare_array<doorkeeper> at, chare_array<named> all, int n) -> task<> {
    const elements<std::string> some{all["a"], all["b"]};
    const std::vector<int> none{-1, -1};
    EXPECT_EQ(co_await workers_of(at, some), none);
    all.insert("a");
    all.insert("b");
    const int home = int(all.state().table().worker_of("b"));
    EXPECT_EQ((co_await workers_of(at, some))[1], home);
    all["a"].destroy();
    all["b"].invoke<&named::go>((home + 1) % n);
    co_await quiescence();
    const std::vector<int> moved{-1, (home + 1) % n};
    EXPECT_EQ(co_await workers_of(at, some), moved);
    EXPECT_EQ(co_await all["b"].call<&named::visits>(), 2);
    all["b"].destroy();
    co_await quiescence();
    EXPECT_EQ(co_await workers_of(at, some), none);
  }(at, all, workers()));
}

TEST_P(local_access, yields_null_while_a_coroutine_keeps_a_destroyed_element) {
  const auto all = create_array<numbered>(rt, 4, placement::round_robin);
  rt.sync_wait([](chare_array<numbered> all, int n) -> task<> {
    all[1].invoke<&numbered::go>(n - 1);
    co_await quiescence();
    std::vector<future<bool>> found;
    for (int i = 0; i < 4; ++i) found.push_back(all[i].call<&numbered::is_found_when_cancelled>());
    for (int i = 0; i < 4; ++i) all[i].destroy();
    for (auto& each : found) EXPECT_FALSE(co_await std::move(each));
  }(all, workers()));
}

/// Migrates, and finds itself wherever it is.
struct wanderer : chare<wanderer> {
  explicit wanderer(int left = 0) : m_left(left) {}
  template <class Archive>
  void serialize(Archive& ar) {
    ar(m_left, m_found, m_worker);
  }
  void step(int workers) {
    find_itself();
    if (m_left-- == 0) return;
    m_worker = (m_worker * 5 + 3 + this_index()) % workers;
    migrate_to(std::size_t(m_worker));
    this_element().invoke<&wanderer::step>(workers);
  }
  /// Sees each other element as a whole object or not at all.
  void look_round() {
    for (int i = 0; i < this_array().extent().extent(); ++i)
      if (wanderer* const other = this_array()[i].local(); other != nullptr) {
        EXPECT_EQ(other->this_index(), i);
        EXPECT_EQ(other->this_worker(), this_worker());
      }
  }
  int found() const { return m_found; }

 private:
  void find_itself() {
    m_found += this_element().local() == this ? 1 : 0;
    this_array().invoke<&wanderer::look_round>();
  }
  int m_left;
  int m_found = 0;
  int m_worker = 0;
};

TEST_P(local_access, finds_the_running_element_itself_wherever_it_is) {
  const int steps = many(60, 15);
  const auto all = create_array<wanderer>(rt, 6, placement::block, steps);
  rt.sync_wait([](chare_array<wanderer> all, int workers, int steps) -> task<> {
    all.invoke<&wanderer::step>(workers);
    co_await quiescence();
    for (int i = 0; i < 6; ++i) EXPECT_EQ(co_await all[i].call<&wanderer::found>(), steps + 1);
  }(all, workers(), steps));
}

TEST_P(local_access, is_refused_on_threads_that_are_no_workers_of_the_runtime) {
  const auto all = create_array<numbered>(rt, 4, placement::block);
  const std::string text = message_of<usage_error>([&] { static_cast<void>(all[2].local()); });
  EXPECT_NE(text.find("[2]: local is for tasks and entry methods"), std::string::npos) << text;
  runtime other(options_with(1));
  const bool is_refused = other.sync_wait([](element<numbered> e) -> task<bool> {
    try {
      static_cast<void>(e.local());
    } catch (const usage_error&) {
      co_return true;
    }
    co_return false;
  }(all[2]));
  EXPECT_TRUE(is_refused);
  rt.wait_idle();
}

}  // namespace
}  // namespace starling
