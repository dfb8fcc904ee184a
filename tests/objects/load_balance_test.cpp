// SPDX-License-Identifier: Apache-2.0
// load_balance() and migration_point(): who migrates, what continues, and what ends.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <starling/core.hpp>
#include <starling/objects.hpp>
#include <starling/objects/balance.hpp>

#include "mortal.hpp"
#include "on_ranks.hpp"

namespace starling {
namespace {

using starling_test::cluster;
using starling_test::many;
using starling_test::message_of;
using starling_test::over_ucx;
using starling_test::stay_in_place;

class load_balance : public starling_test::on_ranks {
 protected:
  [[nodiscard]] int workers() { return int(total_worker_count(rt)); }
};
INSTANTIATE_TEST_SUITE_P(on, load_balance,
                         testing::Values(cluster{1, 1}, cluster{1, 2}, cluster{1, 4}, cluster{2, 1},
                                         cluster{2, 2}, cluster{3, 1}, over_ucx({2, 2})),
                         starling_test::ranks_name);

/// A number that looks random, from 0 to `below` − 1.
int scattered(int a, int b, int below) {
  std::uint64_t x = std::uint64_t(a) * 0x9e3779b97f4a7c15u + std::uint64_t(b) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 31)) * 0x94d049bb133111ebu;
  return int((x >> 33) % std::uint64_t(below));
}

enum class loads { equal, quarter, changing, misjudged };

constexpr int blocks = 12;

/// In each step sends a numbered message to each block, receives those of all, and balances.
struct block : chare<block> {
  block(int steps, loads kind) : m_steps(steps), m_kind(kind) {}
  explicit block(migrated) {}
  template <class Archive>
  void serialize(Archive& ar) {
    ar(m_steps, m_kind, m_step, m_wrong, m_migrations, m_resumed, m_end);
  }

  double load() const {
    // Hours, so that the time of the balancer is nothing beside them.
    if (m_kind == loads::misjudged && m_step == 1) return this_index() < blocks / 2 ? 2e3 : 1e3;
    if (m_kind == loads::misjudged) return this_index() < blocks / 4 ? 8e3 : 1e3;
    if (m_kind == loads::quarter) return this_index() < blocks / 4 ? 8e-3 : 1e-3;
    return m_kind == loads::equal ? 1e-3 : 1e-3 * scattered(this_index(), m_step, 20);
  }
  awaited halo(int step, int from);
  void begin(callback<std::vector<int>> end) {
    m_end = std::move(end);
    this_element().template invoke<&block::run>();
  }
  task<> run() {
    while (m_step < m_steps) {
      for (int to = 0; to < blocks; ++to)
        this_array()[to].invoke<&block::halo>(m_step, this_index());
      unsigned senders = 0;
      for (int i = 0; i < blocks; ++i) {
        const unsigned bit = 1u << co_await when<&block::halo>(m_step);
        if ((senders & bit) != 0) ++m_wrong;
        senders |= bit;
      }
      ++m_step;
      co_await step_ends();
    }
    contribute(std::vector<int>{m_wrong, m_migrations, m_resumed}, reduction::sum(), m_end);
  }
  task<> resumed() {
    ++m_resumed;
    return run();
  }
  void after_migration() { ++m_migrations; }
  int place() { return int(this_worker()); }

 private:
  task<> step_ends() { co_await load_balance(); }  // the coroutine that waits is a child

  int m_steps = 0;
  loads m_kind = loads::equal;
  int m_step = 0;
  int m_wrong = 0;
  int m_migrations = 0;
  int m_resumed = 0;
  callback<std::vector<int>> m_end;
};

/// Runs blocks to their end; returns how often messages were wrong, and the numbers of migrations
/// and of calls of `resumed`.
task<std::vector<int>> run_blocks(chare_array<block> all) {
  auto [to, result] = make_reply<std::vector<int>>();
  all.invoke<&block::begin>(to);
  co_return co_await std::move(result);
}

/// Expects that the blocks, of which a quarter is heavy, are distributed evenly.
task<> expect_even(chare_array<block> all, int workers) {
  std::vector<int> sums(static_cast<std::size_t>(workers));
  for (int i = 0; i < blocks; ++i)
    sums[std::size_t(co_await all[i].call<&block::place>())] += i < blocks / 4 ? 8 : 1;
  const int mean = (3 * 8 + 9 + workers - 1) / workers;
  EXPECT_LE(*std::ranges::max_element(sums), std::max(mean, 8) + 1);
}

TEST_P(load_balance, evens_out_the_loads) {
  stay_in_place(rt, "shows where the balancer leads the elements");
  for (const std::string balancer : {"greedy", "diffusion"}) {
    // Within a rank it sends at most a quarter of a difference, and these elements are larger.
    if (balancer == "diffusion" && GetParam().ranks == 1) continue;
    const auto all = create_array<block>(rt, blocks, placement::block, 6, loads::quarter);
    all.balance_by(balance::make_balancer(balancer), 1);
    rt.sync_wait([](chare_array<block> all, int workers) -> task<> {
      const std::vector<int> found = co_await run_blocks(all);
      EXPECT_EQ(found.at(0), 0) << "wrong messages";
      EXPECT_EQ(found.at(1) > 0, workers > 1) << "migrations";
      co_await expect_even(all, workers);
    }(all, workers()));
  }
}

TEST_P(load_balance, corrects_a_balancing_that_followed_wrong_loads) {
  stay_in_place(rt, "shows where the balancer leads the elements");
  const auto all = create_array<block>(rt, blocks, placement::block, 20, loads::misjudged);
  rt.sync_wait([](chare_array<block> all, int workers) -> task<> {
    static_cast<void>(co_await run_blocks(all));
    co_await expect_even(all, workers);
  }(all, workers()));
}

TEST_P(load_balance, delivers_each_message_once_while_elements_migrate_in_each_step) {
  for (const char* balancer : {"greedy", "diffusion"}) {
    const int steps = many(40, 8);
    const auto all = create_array<block>(rt, blocks, placement::block, steps, loads::changing);
    all.balance_by(balance::make_balancer(balancer, {.tolerance = 0}), 1);
    const std::vector<int> found = rt.sync_wait(run_blocks(all));
    EXPECT_EQ(found.at(0), 0) << "wrong messages";
    EXPECT_EQ(found.at(1) > 0, workers() > 1) << "migrations";
    EXPECT_EQ(found.at(2) > 0, GetParam().ranks > 1) << "continued on other ranks";
    EXPECT_LE(found.at(2), found.at(1));
  }
}

TEST_P(load_balance, leaves_balanced_elements_alone) {
  stay_in_place(rt, "shows that no element migrates");
  const auto all = create_array<block>(rt, blocks, placement::block, 20, loads::equal);
  if (blocks % workers() != 0) return;  // the loads cannot be equal
  EXPECT_EQ(rt.sync_wait(run_blocks(all)), std::vector<int>(3, 0));
}

/// Takes part in a balancing while another coroutine waits for a message.
struct anchored : chare<anchored> {
  double load() const { return this_index() == 0 ? 1.0 : 5.0; }
  template <class Archive>
  void serialize(Archive&) {}
  awaited bell();
  task<> listen() { co_await when<&anchored::bell>(); }
  task<int> balance() {
    for (int i = 0; i < 3; ++i) co_await load_balance();
    co_return int(this_worker());
  }
  task<> resumed() { co_return; }
};

TEST_P(load_balance, keeps_elements_on_their_rank_whose_coroutines_have_callers) {
  stay_in_place(rt, "an element may migrate before its coroutines begin");
  const auto all = create_array<anchored>(rt, 4, placement::block);
  all.balance_by(balance::make_balancer("greedy"), 1);
  rt.sync_wait([](chare_array<anchored> all, int ranks, int workers) -> task<> {
    for (int i = 0; i < 4; ++i) all[i].invoke<&anchored::listen>();
    std::vector<future<int>> places;
    for (int i = 0; i < 4; ++i) places.push_back(all[i].call<&anchored::balance>());
    const std::vector<int> now = co_await when_all(std::move(places));
    for (int i = 0; i < 4 && ranks > 1; ++i)
      EXPECT_EQ(now[std::size_t(i)] / (workers / ranks), i * workers / 4 / (workers / ranks))
          << "element " << i;
    all.invoke<&anchored::bell>();
    co_await quiescence();
  }(all, GetParam().ranks, workers()));
}

/// Cannot leave its rank, as it has no `serialize`.
struct rooted : chare<rooted> {
  double load() const { return this_index() == 0 ? 9.0 : 1.0; }
  void begin(callback<int> end) {
    m_end = std::move(end);
    this_element().template invoke<&rooted::run>();
  }
  task<> run() {
    for (int i = 0; i < 4; ++i) co_await load_balance();
    contribute(1, reduction::sum(), m_end);
  }
  task<> resumed() { co_return; }
  int place() { return int(this_worker()); }

 private:
  callback<int> m_end;
};

TEST_P(load_balance, keeps_elements_on_their_rank_whose_class_cannot_be_packed) {
  stay_in_place(rt, "shows which elements the balancer moves");
  const auto all = create_array<rooted>(rt, 6, placement::block);
  all.balance_by(balance::make_balancer("greedy"), 1);
  auto [end, count] = make_reply<int>();
  all.invoke<&rooted::begin>(end);
  EXPECT_EQ(rt.sync_wait(std::move(count)), 6);
  const int here = int(GetParam().workers);
  for (int i = 0; i < 6; ++i) {
    const int before = i * workers() / 6, now = rt.sync_wait(all[i].call<&rooted::place>());
    EXPECT_EQ(now / here, before / here) << "element " << i;
    if (i == 1 && here > 1) {
      EXPECT_NE(now, before) << "shares its worker with the heavy one";
    }
  }
}

/// Calls load_balance() a number of times.
struct late_comer : chare<late_comer> {
  late_comer() = default;
  template <class Archive>
  void serialize(Archive& ar) {
    ar(m_left, m_done, m_end);
  }
  double load() const { return 1.0; }
  void begin(int calls, callback<int> end) {
    m_left = calls;
    m_done = 0;
    m_end = std::move(end);
    this_element().template invoke<&late_comer::run>();
  }
  task<> run() {
    while (m_left > 0) {
      --m_left;
      ++m_done;
      co_await load_balance();
    }
    contribute(m_done + 0, reduction::sum(), m_end);
  }
  task<> resumed() { return run(); }

 private:
  int m_left = 0;
  int m_done = 0;
  callback<int> m_end;
};

task<int> begin_all(chare_array<late_comer> all, int elements, int calls) {
  co_await quiescence();  // the insertions have arrived
  auto [end, done] = make_reply<int>();
  for (int i = 0; i < elements; ++i) all[i].invoke<&late_comer::begin>(calls, end);
  co_return co_await std::move(done);
}

TEST_P(load_balance, takes_in_elements_that_are_inserted_later) {
  const auto all = create_empty_array<late_comer>(rt, 6, placement::round_robin);
  for (int i = 0; i < 4; ++i) all.insert(i);
  EXPECT_EQ(rt.sync_wait(begin_all(all, 4, 10)), 4 * 10);
  for (int i = 4; i < 6; ++i) all.insert(i);
  EXPECT_EQ(rt.sync_wait(begin_all(all, 6, 20)), 6 * 20);
  all.done_inserting();
  rt.wait_idle();
}

TEST_P(load_balance, ends_for_destroyed_elements_and_goes_on_for_the_others) {
  rt.sync_wait(starling_test::destroy_while_others_wait(rt));
}

struct broken final : balance::balancer {
  std::string_view name() const noexcept override { return "broken"; }

 protected:
  void assign(const balance::snapshot&, std::vector<std::uint32_t>&) const override {
    throw std::runtime_error("no idea");
  }
};

TEST_P(load_balance, ends_the_run_when_the_balancer_fails) {
  if (workers() == 1) return;  // one worker is balanced
  stay_in_place(rt, "the balancer is not asked if migrations have balanced the loads by chance");
  const auto all = create_array<block>(rt, blocks, placement::block, 3, loads::quarter);
  all.balance_by(std::make_unique<broken>(), 1);
  const std::string error = message_of<std::runtime_error>([&] { rt.sync_wait(run_blocks(all)); });
  EXPECT_NE(error.find("no idea"), std::string::npos) << error;
}

/// Comes twice at the same time.
struct twice : chare<twice> {
  template <class Archive>
  void serialize(Archive&) {}
  task<> wait() { co_await load_balance(); }
};

TEST_P(load_balance, refuses_two_coroutines_of_one_element) {
  const auto all = create_array<twice>(rt, 2, placement::block);
  rt.sync_wait([](chare_array<twice> all) -> task<> {
    auto first = all[0].call<&twice::wait>();
    EXPECT_THROW(co_await all[0].call<&twice::wait>(), usage_error);
    co_await when_all(std::move(first), all[1].call<&twice::wait>());
  }(all));
}

}  // namespace
}  // namespace starling
