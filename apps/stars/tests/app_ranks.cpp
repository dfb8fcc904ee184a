// SPDX-License-Identifier: Apache-2.0
// Any number of ranks gives the bits of the serial driver, or fails with the same fault.
#include <gtest/gtest.h>

#include <cstring>
#include <optional>

#include <starling/core.hpp>
#include <starling/objects.hpp>

#include "driver/part.hpp"
#include "objects/cluster.hpp"
#include "placement/serial.hpp"
#include "problems/problems.hpp"
#include "tests/app_support.hpp"
#include "tests/changing_trees.hpp"

namespace stars::test {
namespace {

using starling_test::cluster;

struct ranks_case {
  int ranks;
  unsigned workers;
  residency place;
  const char* name = "";
  int aggregate = 0;
  capture_kind capture = capture_kind::none;
  bool keeps_fluxes = false;
};
std::ostream& operator<<(std::ostream& out, const ranks_case& c) { return out << c.name; }
std::string name_of(const testing::TestParamInfo<ranks_case>& info) {
  const ranks_case& c = info.param;
  return std::string(name_of(c.place)) + c.name + "_" + std::to_string(c.ranks) + "_ranks_of_" +
         std::to_string(c.workers);
}

settings settings_for(const ranks_case& c, const scheme& numerics) {
  settings s;
  s.numerics = numerics;
  s.place = c.place;
  s.staged.aggregate = std::size_t(c.aggregate);
  s.staged.streams = 3;
  s.resident.aggregate = c.aggregate;
  s.resident.capture = c.capture;
  s.resident.keeps_fluxes = c.keeps_fluxes;
  return s;
}

class ranks : public testing::TestWithParam<ranks_case> {
 protected:
  struct end {
    snapshot state;
    std::optional<unphysical_state> fault;
  };

  void SetUp() override {
    if (!restart_available()) GTEST_SKIP() << "built without HDF5";
  }

  [[nodiscard]] static end run(const snapshot& first, const scheme& numerics, int steps) {
    const settings s = settings_for(GetParam(), numerics);
    by_files files;
    end got;
    cluster{GetParam().ranks, GetParam().workers}.expect(
        0, [&](starling::runtime& rt) { return lead(rt, files, first, s, steps, got); });
    return got;
  }
  void expect_the_serial_bits(const snapshot& first, int steps) const {
    const end got = run(first, scheme_for(first), steps);
    ASSERT_FALSE(got.fault) << got.fault->what();
    expect_same_bits(got.state, serial(first, scheme_for(first), steps));
  }
  void expect_the_serial_failure(const snapshot& first, const scheme& numerics, int steps) const {
    expect_failure(first, numerics, steps, serial_failure(first, numerics, steps));
  }
  void expect_failure(const snapshot& first, const scheme& numerics, int steps,
                      const serial_end& reference) const {
    const unphysical_state& expected = reference.fault;
    const end got = run(first, numerics, steps);
    ASSERT_TRUE(got.fault);
    EXPECT_STREQ(got.fault->what(), expected.what());
    EXPECT_EQ(got.fault->cell, expected.cell);
    EXPECT_EQ(got.state.step, reference.state.step);
    EXPECT_EQ(got.state.time, reference.state.time);
    // The remaining state is the one in which the fault was found.
    const std::size_t at = got.state.index(int(expected.index / cells_per_subgrid), expected.field,
                                           {int(expected.index % cells_per_subgrid), 0, 0});
    EXPECT_EQ(std::memcmp(&got.state.data[at], &expected.value, sizeof(double)), 0);
  }

 private:
  static starling::task<int> lead(starling::runtime& rt, by_files& files, const snapshot& first,
                                  const settings& s, int steps, end& got) {
    const auto sim = co_await files.make_across_ranks(rt, first, s);
    const step_request all{steps, first.time, no_limit, true};
    try {
      const step_progress done = co_await sim->advance(all);
      EXPECT_EQ(done.steps, steps);
    } catch (const unphysical_state& e) {
      got.fault = e;
    }
    co_await sim->finish();  // after a fault as well
    got.state = co_await files.gather(*sim);
    co_return 0;
  }
};

TEST_P(ranks, give_the_serial_bits_of_a_blast) { expect_the_serial_bits(make_blast(1), 3); }

TEST_P(ranks, give_the_serial_bits_on_several_levels) {
  for (const auto& [first, last] : runs_on_levels()) {
    ASSERT_GE(first.grid.subgrid_count(), GetParam().ranks);
    const end got = run(first, scheme_for(first), 2);
    ASSERT_FALSE(got.fault) << got.fault->what();
    expect_same_bits(got.state, last);
  }
}

/// The mesh follows the flow, as it does with the serial driver.
TEST_P(ranks, give_the_serial_bits_while_the_mesh_changes) {
  const changing_run& run = changing_trees();
  ASSERT_GE(run.first.grid.subgrid_count(), GetParam().ranks);
  const settings s = settings_for(GetParam(), scheme_for(run.first));
  by_files files;
  snapshot got;
  const auto lead = [&](starling::runtime& rt) -> starling::task<int> {
    const auto sim = co_await files.make_across_ranks(rt, run.first, s);
    co_await follow(*sim, run);
    got = co_await files.gather(*sim);
    co_return 0;
  };
  cluster{GetParam().ranks, GetParam().workers}.expect(0, lead);
  EXPECT_TRUE(got.grid == run.last.grid);
  expect_same_bits(got, run.last);
}

TEST_P(ranks, give_the_serial_bits_of_a_tube) {
  sod_options o;
  o.polar = 60;
  o.azimuth = 30;
  expect_the_serial_bits(make_sod(1, o), 3);
}

TEST_P(ranks, give_the_serial_bits_of_a_periodic_wave) {
  expect_the_serial_bits(make_linear_wave(1), 2);
}

TEST_P(ranks, give_the_serial_bits_between_mirrors) {
  snapshot first = make_blast(1);
  first.boundary = boundary_kind::reflecting;
  expect_the_serial_bits(first, 3);
}

TEST_P(ranks, add_up_the_outflow_in_the_serial_order) {
  const snapshot first = rarefied();
  expect_the_serial_bits(first, 2);
  EXPECT_NE(serial(first, scheme_for(first), 2).outflow[field::egas], 0.0);
}

TEST_P(ranks, fail_as_the_serial_driver_does_wherever_the_cell_is) {
  for (const int subgrid : {0, 3, 7}) {
    snapshot first = make_blast(1);
    const triple bad{3, 5, 7};
    first.data[first.index(subgrid, field::rho, bad)] = -1.0;
    first.data[first.index(subgrid, field::species, bad)] = -1.0;
    expect_the_serial_failure(first, scheme_for(first), 1);
  }
}

/// Also while other ranks wait for mean fluxes of the rank that has found the cell.
TEST_P(ranks, fail_on_several_levels_as_the_serial_driver_does) {
  const snapshot& first = runs_on_levels().front().first;
  const int leaves = first.grid.subgrid_count();
  for (const int subgrid : {0, leaves / 2, leaves - 1}) {
    snapshot bad = first;
    for (const int f : {field::rho, field::species})
      bad.data[bad.index(subgrid, f, {3, 5, 7})] = -1.0;
    expect_the_serial_failure(bad, scheme_for(bad), 2);
  }
}

TEST_P(ranks, fail_in_a_later_step_as_the_serial_driver_does) {
  const snapshot first = rarefied();
  const serial_end expected = serial_failure(first, scheme_for(first), 10);
  EXPECT_EQ(expected.state.step, 6);  // steps before the failure
  expect_failure(first, scheme_for(first), 10, expected);
}

TEST_P(ranks, fail_in_the_second_stage_of_a_step_as_the_serial_driver_does) {
  const snapshot first = violent(191);
  scheme s = scheme_for(first);
  s.cfl = 0.2 + 0.02 * 31;
  expect_the_serial_failure(first, s, 5);
}

TEST_P(ranks, fail_in_the_last_stage_of_a_step_as_the_serial_driver_does) {
  const snapshot first = violent(70);
  scheme s = scheme_for(first);
  s.cfl = 0.2 + 0.02 * 30;
  expect_the_serial_failure(first, s, 5);
}

INSTANTIATE_TEST_SUITE_P(
    of, ranks,
    testing::Values(ranks_case{1, 2, residency::staged}, ranks_case{2, 2, residency::staged},
                    ranks_case{3, 1, residency::staged}, ranks_case{8, 1, residency::staged},
                    ranks_case{2, 2, residency::staged, "_aggregated", 3},
                    ranks_case{1, 2, residency::resident}, ranks_case{2, 2, residency::resident},
                    ranks_case{5, 1, residency::resident}, ranks_case{8, 1, residency::resident},
                    ranks_case{2, 1, residency::resident, "_graphs", 2, capture_kind::stage},
                    ranks_case{2, 2, residency::resident, "_kept", 0, capture_kind::none, true},
                    ranks_case{3, 1, residency::resident, "_kept", 0, capture_kind::none, true}),
    name_of);

class larger_domains : public ranks {};

TEST_P(larger_domains, give_the_serial_bits) {
  snapshot first = make_blast(2);
  first.boundary = boundary_kind::periodic;
  expect_the_serial_bits(first, 2);
}

/// Some sub-grids wait for no other rank and run ahead.
TEST_P(larger_domains, with_independent_sub_grids_give_the_serial_bits) {
  const snapshot first = make_blast(2);
  const transfer_plan whole = plan_transfers(first.grid, first.boundary);
  const part_plan part =
      plan_part(whole, equal_parts(first.grid.subgrid_count(), GetParam().ranks), 0);
  ASSERT_GT(part.independent, 0);
  ASSERT_LT(part.independent, part.count);
  expect_the_serial_bits(first, 2);
}

INSTANTIATE_TEST_SUITE_P(
    of, larger_domains,
    testing::Values(ranks_case{4, 1, residency::staged}, ranks_case{4, 1, residency::resident},
                    ranks_case{2, 2, residency::resident, "_lanes", 3},
                    ranks_case{2, 1, residency::resident, "_graphs", 0, capture_kind::stage}),
    name_of);

TEST(rank_count, is_at_most_the_number_of_sub_grids) {
  EXPECT_NO_THROW(require_sub_grids(mesh{1}, 8));
  try {
    require_sub_grids(mesh{1}, 9);
    FAIL() << "nine ranks share eight sub-grids";
  } catch (const starling::option_error& e) {
    EXPECT_STREQ(e.what(),
                 "--level 1: 8 sub-grids cannot be divided among 9 ranks; give a higher level or "
                 "start fewer ranks");
  }
}

}  // namespace
}  // namespace stars::test
