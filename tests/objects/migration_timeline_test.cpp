// SPDX-License-Identifier: Apache-2.0
// What the timeline shows of migrations and balancings.
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <starling/core.hpp>
#include <starling/objects.hpp>

#include "balanced_blocks.hpp"
#include "on_ranks.hpp"
#include "support/scratch_folder.hpp"

namespace starling {
namespace {

using nlohmann::json;
using starling_test::balance_once;
using starling_test::block;
using starling_test::blocks;
using starling_test::cluster;
using starling_test::make_blocks;
using starling_test::options_with;
using starling_test::over_ucx;
using starling_test::parsed;
using starling_test::scratch_folder;
using starling_test::stay_in_place;

void enable_trace() { runtime::current()->tracer().enable(); }
void write_trace(const std::string& file) { runtime::current()->tracer().write(file); }

/// One end of a migration, or a balancing.
struct entry {
  std::string name;
  json details;
  std::string arrow;  // empty: none
  bool is_tail = false;
};

/// Returns the entries of a kind in the timelines of all ranks.
task<std::vector<entry>> entries_of(std::string kind, std::string folder) {
  std::vector<entry> found;
  for (int r = 0; r < rank_count(); ++r) {
    const std::string file = folder + "/" + std::to_string(r) + ".json";
    co_await async<&write_trace>(rank(r), file);
    const json trace = parsed(file);
    for (const json& e : trace.at("traceEvents")) {
      if (e.value("cat", "") != kind) continue;
      if (e.at("ph") == "X") {
        found.push_back({e.at("name"), e.at("args"), "", false});
        continue;
      }
      found.back().arrow = e.at("id");
      found.back().is_tail = e.at("ph") == "s";
      EXPECT_EQ(e.at("bp"), "e");
    }
  }
  co_return found;
}

task<> enable_all() {
  for (int r = 0; r < rank_count(); ++r) co_await async<&enable_trace>(rank(r));
}

/// Expects that each migration has an arrow from one departure to one arrival of the same element
/// at the worker where it went.
void expect_pairs(const std::vector<entry>& all) {
  std::map<std::string, std::vector<entry>> by_arrow;
  for (const entry& e : all) by_arrow[e.arrow].push_back(e);
  for (auto& [arrow, ends] : by_arrow) {
    ASSERT_EQ(ends.size(), 2u) << arrow;
    if (!ends[0].is_tail) std::swap(ends[0], ends[1]);
    EXPECT_TRUE(ends[0].is_tail && !ends[1].is_tail);
    EXPECT_EQ(ends[0].name, ends[1].name);
    EXPECT_EQ(ends[0].details.at("to worker"), ends[1].details.at("at worker"));
    EXPECT_EQ(ends[0].details.value("to rank", 0), ends[1].details.value("at rank", 0));
  }
}

std::vector<entry> departures(const std::vector<entry>& all) {
  std::vector<entry> found;
  for (const entry& e : all)
    if (e.is_tail) found.push_back(e);
  return found;
}

class migration_timeline : public starling_test::on_ranks {};
INSTANTIATE_TEST_SUITE_P(on, migration_timeline,
                         testing::Values(cluster{1, 2}, cluster{1, 4}, cluster{2, 2}, cluster{3, 1},
                                         over_ucx({2, 1})),
                         starling_test::ranks_name);

TEST_P(migration_timeline, has_the_migrations_that_elements_request) {
  stay_in_place(rt, "counts migrations");
  const auto all = create_array<block>(rt, blocks, placement::block);
  rt.sync_wait([](chare_array<block> all, int workers) -> task<> {
    const scratch_folder folder;
    co_await enable_all();
    all[0].invoke<&block::go>(workers - 1);
    co_await quiescence();
    EXPECT_EQ(co_await all[0].call<&block::place>(), workers - 1);
    const auto found = co_await entries_of("migration", folder.path());
    expect_pairs(found);
    const auto gone = departures(found);
    EXPECT_EQ(gone.size(), 1u);
    if (gone.size() != 1) co_return;
    EXPECT_NE(gone[0].name.find("block[0]"), std::string::npos) << gone[0].name;
    EXPECT_EQ(gone[0].details.at("from worker"), 0);
    EXPECT_EQ(gone[0].details.at("to worker"), workers - 1);
    EXPECT_EQ(gone[0].details.contains("from rank"), rank_count() > 1);
    EXPECT_EQ(gone[0].details.at("reason"), "migrate_to");
  }(all, int(total_worker_count(rt))));
}

TEST_P(migration_timeline, has_balancings_and_the_reasons_of_their_migrations) {
  stay_in_place(rt, "counts migrations");
  rt.sync_wait([](chare_array<block> all) -> task<> {
    const scratch_folder folder;
    co_await enable_all();
    co_await balance_once(all);
    co_await quiescence();
    const auto found = co_await entries_of("migration", folder.path());
    expect_pairs(found);
    const auto gone = departures(found);
    const auto balancings = co_await entries_of("balancing", folder.path());
    EXPECT_EQ(balancings.size(), 1u);
    if (balancings.size() != 1) co_return;
    const json& details = balancings[0].details;
    EXPECT_EQ(details.at("migrations"), gone.size());
    EXPECT_GT(gone.size(), 0u);
    EXPECT_EQ(details.at("balancer"), "greedy");
    EXPECT_EQ(details.at("decision"), "migrate");
    EXPECT_EQ(details.at("call"), 1);
    EXPECT_GT(details.at("imbalance before"), details.at("imbalance after"));
    EXPECT_GE(details.at("imbalance after"), 1);
    for (const entry& e : gone) {
      EXPECT_EQ(e.details.at("balancer"), "greedy");
      const std::string reason = e.details.at("reason");
      EXPECT_EQ(reason.rfind("load_balance(): ", 0), 0u) << reason;
      EXPECT_NE(e.details.at("from worker"), e.details.at("to worker"));
    }
  }(make_blocks(rt)));
}

TEST_P(migration_timeline, is_empty_while_it_is_off) {
  const auto all = make_blocks(rt);
  rt.sync_wait(balance_once(all));
  for (const trace_total& t : rt.tracer().totals())
    EXPECT_TRUE(t.kind != span_kind::migration && t.kind != span_kind::balancing) << t.name;
}

TEST(migration_timeline_of_chaos, names_chaos_mode_as_the_reason) {
  runtime_options options = options_with(3);
  options.chaos = 1;
  options.extra["chaos-migrate"] = "100";
  runtime rt(options);
  rt.tracer().enable();
  const auto all = create_array<block>(rt, blocks, placement::block);
  rt.sync_wait([](chare_array<block> all) -> task<> {
    for (int i = 0; i < blocks; ++i) co_await all[i].call<&block::place>();
    co_await quiescence();
    const scratch_folder folder;
    const auto gone = departures(co_await entries_of("migration", folder.path()));
    EXPECT_GT(gone.size(), 0u);
    for (const entry& e : gone) EXPECT_EQ(e.details.at("reason"), "chaos mode");
  }(all));
  // The summary has one line for all elements.
  int rows = 0;
  for (const trace_total& t : rt.tracer().totals()) rows += t.kind == span_kind::migration ? 1 : 0;
  EXPECT_EQ(rows, 2) << rt.tracer().summary();
}

}  // namespace
}  // namespace starling
