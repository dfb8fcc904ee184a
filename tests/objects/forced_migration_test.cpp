// SPDX-License-Identifier: Apache-2.0
// Migrations that chaos mode forces on elements: option chaos-migrate.
#include <cstdint>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <starling/core.hpp>
#include <starling/objects.hpp>

#include "on_ranks.hpp"

namespace starling {
namespace {

using detail::forced_counts;
using starling_test::cluster;
using starling_test::message_of;
using starling_test::options_with;
using starling_test::over_ucx;
using starling_test::stay_in_place;

runtime_options forced(const std::string& percent, unsigned workers = 3, std::uint64_t seed = 1) {
  runtime_options result = options_with(workers);
  result.chaos = seed;
  result.extra["chaos-migrate"] = percent;
  return result;
}

/// Counts its migrations.
struct nomad : chare<nomad> {
  void nothing() {}
  awaited letter();
  task<> read(int letters) {
    for (int i = 0; i < letters; ++i) co_await when<&nomad::letter>();
  }
  void settle(int to) { migrate_to(std::size_t(to)); }
  int place() { return int(this_worker()); }
  int migrations() const { return m_migrations; }
  void after_migration() { ++m_migrations; }

 private:
  int m_migrations = 0;
};

constexpr int nomads = 8;

/// Returns the migrations of each element after some messages to it and waits of it.
task<std::vector<int>> migrations_of(chare_array<nomad> all) {
  for (int round = 0; round < 100; ++round) {
    all.invoke<&nomad::nothing>();
    all.invoke<&nomad::read>(1);
    all.invoke<&nomad::letter>();
    if (round % 10 == 0) co_await quiescence();
  }
  co_await quiescence();
  std::vector<int> counts;
  for (int i = 0; i < nomads; ++i) counts.push_back(co_await all[i].call<&nomad::migrations>());
  co_return counts;
}

std::vector<int> migrations_with(const runtime_options& options) {
  runtime rt(options);
  return rt.sync_wait(migrations_of(create_array<nomad>(rt, nomads, placement::block)));
}

TEST(forced_migrations, are_as_many_as_an_element_has_chances_if_all_are_taken) {
  EXPECT_EQ(migrations_with(forced("100")),
            std::vector<int>(nomads, detail::forced_migrations::chances));
}

TEST(forced_migrations, differ_between_elements_if_some_chances_are_taken) {
  int total = 0;
  for (const int n : migrations_with(forced("25"))) {
    EXPECT_LE(n, detail::forced_migrations::chances);
    total += n;
  }
  EXPECT_GT(total, 0);
  EXPECT_LT(total, nomads * detail::forced_migrations::chances);
}

TEST(forced_migrations, need_chaos_mode_and_several_workers) {
  const std::vector<int> none(nomads, 0);
  runtime_options calm = forced("100");
  calm.chaos.reset();
  EXPECT_EQ(migrations_with(calm), none);
  EXPECT_EQ(migrations_with(forced("0")), none);
  EXPECT_EQ(migrations_with(forced("100", 1)), none);
}

TEST(forced_migrations, leave_arrays_in_place_when_a_test_wants_it) {
  runtime rt(forced("100"));
  stay_in_place(rt, "shows that elements stay");
  EXPECT_EQ(rt.sync_wait(migrations_of(create_array<nomad>(rt, nomads, placement::block))),
            std::vector<int>(nomads, 0));
}

TEST(forced_migrations, do_not_replace_those_of_the_program) {
  runtime rt(forced("100"));
  const auto made = create_array<nomad>(rt, nomads, placement::block);
  rt.sync_wait([](chare_array<nomad> all) -> task<> {
    static_cast<void>(co_await migrations_of(all));  // no chances are left
    for (const int to : {0, 1, 2, 0}) {
      all.invoke<&nomad::settle>(to);
      co_await quiescence();
      for (int i = 0; i < nomads; ++i) EXPECT_EQ(co_await all[i].call<&nomad::place>(), to);
    }
  }(made));
}

/// Can leave its rank if it has no coroutine, or one that waits at a point. Answers its number and
/// the messages that it has processed.
struct wanderer : chare<wanderer> {
  wanderer() = default;
  explicit wanderer(migrated) {}
  template <class Archive>
  void serialize(Archive& ar) {
    ar(m_taken, m_migrations, m_left);
  }
  void take(int number) { m_taken.push_back(number); }
  task<> run(int steps) {
    m_left = steps;
    return work();
  }
  task<> resumed() { return work(); }
  void after_migration() { ++m_migrations; }
  std::vector<int> taken() { return m_taken; }
  int migrations() const { return m_migrations; }
  int left() const { return m_left; }

 private:
  task<> work() {
    while (m_left > 0) {
      --m_left;
      co_await migration_point();
    }
  }
  std::vector<int> m_taken;
  int m_migrations = 0;
  int m_left = 0;
};

/// An element that no other rank can make.
struct resident : chare<resident> {
  void nothing() {}
  int place() { return int(this_worker()); }
};

forced_counts counts_here() {
  return runtime::current()->service<detail::object_space>().forced().counts();
}

/// Returns the counts of all ranks.
task<forced_counts> counts_of_all() {
  forced_counts all;
  for (int r = 0; r < rank_count(); ++r) {
    const forced_counts of = co_await async<&counts_here>(rank(r));
    all.within += of.within;
    all.between += of.between;
  }
  co_return all;
}

cluster with_chaos(cluster of, const char* percent) {
  of.chaos_migrate = percent;
  return of;
}

/// Sends messages to wanderers, broadcasts included, and checks each of them. Returns the counts.
task<forced_counts> send_to_wanderers(runtime& rt) {
  constexpr int elements = 6, rounds = 40;
  const auto all = create_array<wanderer>(rt, elements, placement::block);
  all.invoke<&wanderer::run>(20);
  for (int n = 0; n < rounds; ++n) {
    if (n % 5 == 0)
      all.invoke<&wanderer::take>(n);
    else
      for (int i = 0; i < elements; ++i) all[i].invoke<&wanderer::take>(n);
    if (n % 8 == 7) co_await quiescence();
  }
  co_await quiescence();
  std::vector<int> expected(rounds);
  std::iota(expected.begin(), expected.end(), 0);
  std::uint64_t migrations = 0;
  for (int i = 0; i < elements; ++i) {
    EXPECT_EQ(co_await all[i].call<&wanderer::taken>(), expected) << i;
    EXPECT_EQ(co_await all[i].call<&wanderer::left>(), 0) << i;
    migrations += std::uint64_t(co_await all[i].call<&wanderer::migrations>());
  }
  co_await quiescence();  // the last calls may have been chances, too
  const forced_counts counts = co_await counts_of_all();
  EXPECT_GE(counts.within + counts.between, migrations);
  co_return counts;
}

class forced_on_clusters : public starling_test::on_clusters {};
INSTANTIATE_TEST_SUITE_P(on, forced_on_clusters,
                         testing::Values(cluster{2, 1}, cluster{2, 2}, cluster{3, 2},
                                         over_ucx({2, 2})),
                         starling_test::cluster_name);

TEST_P(forced_on_clusters, lead_within_and_between_ranks) {
  with_chaos(all, "50").expect(0, [&](runtime& rt) -> task<int> {
    const forced_counts counts = co_await send_to_wanderers(rt);
    EXPECT_GT(counts.between, 0u);
    EXPECT_EQ(counts.within > 0, all.workers > 1) << counts.within;
    co_return 0;
  });
}

TEST_P(forced_on_clusters, use_up_the_chances_of_each_element) {
  with_chaos(all, "100").expect(0, [&](runtime& rt) -> task<int> {
    const forced_counts counts = co_await send_to_wanderers(rt);
    EXPECT_EQ(counts.within + counts.between, 6u * detail::forced_migrations::chances);
    co_return 0;
  });
}

TEST_P(forced_on_clusters, leave_elements_on_their_rank_that_no_other_one_can_make) {
  with_chaos(all, "100").expect(0, [&](runtime& rt) -> task<int> {
    const int ranks = rank_count();
    const auto made = create_rank_group<resident>(rt);
    for (int n = 0; n < 30; ++n) made.invoke<&resident::nothing>();
    co_await quiescence();
    for (int r = 0; r < ranks; ++r)
      EXPECT_EQ(co_await made[r].call<&resident::place>() / int(all.workers), r);
    const forced_counts counts = co_await counts_of_all();
    EXPECT_EQ(counts.between, 0u);
    EXPECT_EQ(counts.within > 0, all.workers > 1);
    co_return 0;
  });
}

TEST_P(forced_on_clusters, are_turned_off_on_all_ranks) {
  with_chaos(all, "100").expect(0, [&](runtime& rt) -> task<int> {
    stay_in_place(rt, "shows that elements stay on all ranks");
    const forced_counts counts = co_await send_to_wanderers(rt);
    EXPECT_EQ(counts.within + counts.between, 0u);
    co_return 0;
  });
}

TEST(forced_migrations, are_requested_in_percent) {
  for (const char* wrong : {"101", "-1", "often", "", "5 "}) {
    const std::string text = message_of<option_error>([&] {
      runtime rt(forced(wrong));
      static_cast<void>(create_array<nomad>(rt, 1, placement::block));
    });
    EXPECT_NE(text.find("chaos-migrate"), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace starling
