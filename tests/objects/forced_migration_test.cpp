// SPDX-License-Identifier: Apache-2.0
// Migrations that chaos mode forces on elements: option chaos-migrate.
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <starling/core.hpp>
#include <starling/objects.hpp>

#include "on_ranks.hpp"

namespace starling {
namespace {

using starling_test::message_of;
using starling_test::options_with;
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
