// SPDX-License-Identifier: Apache-2.0
// Every residency, number of workers and completion mechanism gives the bits of the serial driver.
#include <gtest/gtest.h>

#include <cstring>
#include <utility>
#include <vector>

#include <starling/core.hpp>
#include <starling/device.hpp>

#include "common/tests/backends.hpp"
#include "driver/adaptive.hpp"
#include "driver/regrid.hpp"
#include "mesh/regrid_plan.hpp"
#include "placement/serial.hpp"
#include "placement/simulation.hpp"
#include "problems/problems.hpp"
#include "tests/app_support.hpp"

namespace stars::test {
namespace {

starling::runtime_options options_for(unsigned workers, const std::string& completion,
                                      const std::string& backend = "host") {
  starling::runtime_options o = starling::runtime_options::from_environment();
  o.workers = workers;
  o.extra["backend"] = backend;
  o.extra["completion"] = completion;
  o.extra["streams"] = "3";
  return o;
}

using factory = std::unique_ptr<part_simulation> (*)(starling::runtime&, const snapshot&,
                                                     const scheme&);

std::unique_ptr<part_simulation> staged(starling::runtime& rt, const snapshot& s, const scheme& n) {
  return make_staged(rt, s, n);
}
std::unique_ptr<part_simulation> staged_in_fives(starling::runtime& rt, const snapshot& s,
                                                 const scheme& n) {
  return make_staged(rt, s, n, {.aggregate = 5});
}
std::unique_ptr<part_simulation> staged_recycled(starling::runtime& rt, const snapshot& s,
                                                 const scheme& n) {
  return make_staged(rt, s, n, {.aggregate = 3, .memory = work_memory_kind::recycled});
}
std::unique_ptr<part_simulation> staged_fresh(starling::runtime& rt, const snapshot& s,
                                              const scheme& n) {
  return make_staged(rt, s, n, {.memory = work_memory_kind::fresh});
}
std::unique_ptr<part_simulation> resident(starling::runtime& rt, const snapshot& s,
                                          const scheme& n) {
  return make_resident(rt, s, n);
}
std::unique_ptr<part_simulation> resident_in_threes(starling::runtime& rt, const snapshot& s,
                                                    const scheme& n) {
  return make_resident(rt, s, n, {.aggregate = 3});
}

std::unique_ptr<part_simulation> resident_plain(starling::runtime& rt, const snapshot& s,
                                                const scheme& n) {
  return make_resident(rt, s, n, {.aggregate = 5, .cut = kernel_cut::plain});
}
std::unique_ptr<part_simulation> resident_fused(starling::runtime& rt, const snapshot& s,
                                                const scheme& n) {
  return make_resident(rt, s, n, {.aggregate = 5, .cut = kernel_cut::fused});
}
std::unique_ptr<part_simulation> resident_as_graph(starling::runtime& rt, const snapshot& s,
                                                   const scheme& n) {
  return make_resident(rt, s, n, {.capture = capture_kind::step});
}
std::unique_ptr<part_simulation> resident_as_graphs(starling::runtime& rt, const snapshot& s,
                                                    const scheme& n) {
  return make_resident(rt, s, n, {.capture = capture_kind::stage, .cut = kernel_cut::fused});
}

struct run_case {
  const char* name;
  factory make;
  unsigned workers;
  const char* completion;
  [[nodiscard]] bool staged() const {
    return std::string_view(name).find("resident") == std::string_view::npos;
  }
  const char* backend = "host";
  [[nodiscard]] starling::runtime_options options() const {
    return options_for(workers, completion, backend);
  }
};
std::ostream& operator<<(std::ostream& out, const run_case& c) { return out << c.name; }
std::string name_of(const testing::TestParamInfo<run_case>& info) { return info.param.name; }

class placements : public testing::TestWithParam<run_case> {
 protected:
  void SetUp() override {
    if (const auto why = apps::test::reason_to_skip(GetParam().options())) GTEST_SKIP() << *why;
  }

  snapshot run(const snapshot& first, const scheme& s, int steps) const {
    starling::runtime rt(GetParam().options());
    const auto sim = GetParam().make(rt, first, s);
    return rt.sync_wait(advance(*sim, steps));
  }

  void expect_the_serial_failure(const snapshot& first, const scheme& s, int steps) const {
    expect_failure(first, s, steps, serial_failure(first, s, steps));
  }
  /// Expects the same cell, step, field, value and text as the serial driver, and the same clock of
  /// the state.
  void expect_failure(const snapshot& first, const scheme& s, int steps,
                      const serial_end& reference) const {
    const unphysical_state& expected = reference.fault;
    starling::runtime rt(GetParam().options());
    const auto sim = GetParam().make(rt, first, s);
    const unphysical_state got = failure([&] { rt.sync_wait(advance(*sim, steps)); });
    EXPECT_EQ(got.cell, expected.cell);
    EXPECT_EQ(got.step, expected.step);
    EXPECT_EQ(got.field, expected.field);
    EXPECT_EQ(std::memcmp(&got.value, &expected.value, sizeof got.value), 0);
    EXPECT_STREQ(got.what(), expected.what());
    const snapshot left = rt.sync_wait(sim->gather());
    EXPECT_EQ(left.step, reference.state.step);
    EXPECT_EQ(left.time, reference.state.time);
    // The remaining state is the one in which the fault was found.
    const triple at = expected.cell;
    const int subgrid =
        left.grid.tree().find({left.grid.level(), {at.x / edge, at.y / edge, at.z / edge}});
    const double found =
        left.data[left.index(subgrid, got.field, {at.x % edge, at.y % edge, at.z % edge})];
    EXPECT_EQ(std::memcmp(&found, &expected.value, sizeof found), 0) << found;
    // Sub-grids of a staged run may be a stage ahead or behind.
    if (!GetParam().staged()) {
      const std::vector<double>& all = reference.state.data;
      EXPECT_EQ(std::memcmp(left.data.data(), all.data(), all.size() * sizeof(double)), 0);
    }
  }
};

TEST_P(placements, give_the_serial_bits_of_a_blast) {
  const snapshot first = make_blast(1);
  expect_same_bits(run(first, scheme_for(first), 3), serial(first, scheme_for(first), 3));
}

TEST_P(placements, give_the_serial_bits_on_several_levels) {
  for (const auto& [first, last] : runs_on_levels()) {
    ASSERT_FALSE(first.grid.is_uniform());
    expect_same_bits(run(first, scheme_for(first), 2), last);
  }
}

TEST_P(placements, go_on_with_the_next_tree_as_the_serial_driver_does) {
  const bulge flow(boundary_kind::outflow);
  const std::vector<refinement_rule> rules = {
      {field::rho, refinement_measure::relative_difference, 0.09}};
  const snapshot first = on_levels(boundary_kind::outflow, 1);
  const octree& tree = first.grid.tree();
  starling::runtime rt(GetParam().options());
  auto sim = GetParam().make(rt, first, scheme_for(first));
  const auto flags = rt.sync_wait(sim->test(rules));
  const std::vector<refinement> marks = find_marks(tree, flags);
  EXPECT_EQ(marks, find_marks(first, rules));
  octree next = adapt(tree, marks, {1, 3});
  const regrid_plan plan = plan_regrid(tree, next);
  ASSERT_FALSE(plan.copies.empty() || plan.restrictions.empty() || plan.prolongations.empty());
  leaf_moves all{{}, plan.restrictions, plan.prolongations};
  for (const auto& [from, to] : plan.copies) all.copies.push_back({from, to, -1});
  sim = rt.sync_wait(sim->next({next, first.grid.xscale()}, all, {}, nullptr));
  const snapshot expected = on_tree(first, std::move(next));
  expect_same_bits(rt.sync_wait(sim->gather()), expected);
  expect_same_bits(rt.sync_wait(advance(*sim, 1)), serial(expected, scheme_for(first), 1));
}

TEST_P(placements, give_the_serial_bits_of_a_periodic_wave) {
  const snapshot first = make_linear_wave(1);
  expect_same_bits(run(first, scheme_for(first), 2), serial(first, scheme_for(first), 2));
}

TEST_P(placements, give_the_serial_bits_of_one_point_on_a_face) {
  const snapshot first = make_blast(1);
  scheme s = scheme_for(first);
  s.quadrature = quadrature_kind::centre;
  expect_same_bits(run(first, s, 3), serial(first, s, 3));
}

TEST_P(placements, give_the_serial_bits_on_a_rotating_grid) {
  const snapshot first = make_blast(1);
  for (const auto quadrature : {quadrature_kind::nine_point, quadrature_kind::centre}) {
    scheme s = scheme_for(first);
    s.omega = 0.75;
    s.quadrature = quadrature;
    for (const auto kind : {reconstruction_kind::minmod, reconstruction_kind::ppmx}) {
      s.reconstruction = kind;
      expect_same_bits(run(first, s, 2), serial(first, s, 2));
    }
  }
}

TEST_P(placements, give_the_serial_bits_in_gravity) {
  const auto flow = rayleigh_taylor_problem({.amplitude = 0.1});
  snapshot first = initial_state(*flow, 1);
  scheme s = scheme_for(first);
  s.gravity = flow->gravity;
  expect_same_bits(run(first, s, 3), serial(first, s, 3));
  first.boundary = boundary_kind::outflow;
  expect_same_bits(run(first, s, 2), serial(first, s, 2));
}

TEST_P(placements, stop_with_the_cell_of_an_unphysical_state) {
  snapshot first = make_blast(1);
  const triple bad{3, 5, 7};
  first.data[first.index(0, field::rho, bad)] = -1.0;
  first.data[first.index(0, field::species, bad)] = -1.0;
  expect_the_serial_failure(first, scheme_for(first), 1);
}

/// The fault occurs after several good steps, in eight sub-grids at once.
TEST_P(placements, stop_in_a_later_step_as_the_serial_driver_does) {
  const snapshot first = rarefied();
  const serial_end expected = serial_failure(first, scheme_for(first), 10);
  EXPECT_EQ(expected.state.step, 6);  // steps before the failure
  expect_failure(first, scheme_for(first), 10, expected);
}

TEST_P(placements, stop_in_the_second_stage_of_a_step_as_the_serial_driver_does) {
  const snapshot first = violent(191);
  scheme s = scheme_for(first);
  s.cfl = 0.2 + 0.02 * 31;
  expect_the_serial_failure(first, s, 5);
}

TEST_P(placements, stop_in_the_last_stage_of_a_step_as_the_serial_driver_does) {
  const snapshot first = violent(70);
  scheme s = scheme_for(first);
  s.cfl = 0.2 + 0.02 * 30;
  expect_the_serial_failure(first, s, 5);
}

/// Sub-grids that are not neighbours run ahead of each other.
TEST_P(placements, give_the_serial_bits_on_64_subgrids) {
  static const auto cases = [] {  // the initial state and the serial driver's result
    std::vector<std::pair<snapshot, snapshot>> all;
    for (const auto kind : {boundary_kind::outflow, boundary_kind::periodic}) {
      snapshot first = make_blast(2);
      first.boundary = kind;
      all.emplace_back(first, serial(first, scheme_for(first), 3));
    }
    return all;
  }();
  for (const auto& [first, expected] : cases)
    expect_same_bits(run(first, scheme_for(first), 3), expected);
}

INSTANTIATE_TEST_SUITE_P(
    of_a_step, placements,
    testing::Values(run_case{"staged_1", staged, 1, "word"},
                    run_case{"staged_2", staged, 2, "word"},
                    run_case{"staged_4", staged, 4, "event"},
                    run_case{"staged_callback", staged, 2, "callback"},
                    run_case{"staged_block", staged, 2, "block"},
                    run_case{"staged_recycled", staged_recycled, 2, "word"},
                    run_case{"staged_fresh", staged_fresh, 2, "word"},
                    run_case{"aggregated_1", staged_in_fives, 1, "word"},
                    run_case{"aggregated_2", staged_in_fives, 2, "word"},
                    run_case{"aggregated_4", staged_in_fives, 4, "event"},
                    run_case{"aggregated_callback", staged_in_fives, 2, "callback"},
                    run_case{"aggregated_block", staged_in_fives, 2, "block"},
                    run_case{"resident_1", resident, 1, "word"},
                    run_case{"resident_2", resident, 2, "event"},
                    run_case{"resident_4", resident, 4, "callback"},
                    run_case{"resident_plain", resident_plain, 2, "word"},
                    run_case{"resident_fused", resident_fused, 2, "word"},
                    run_case{"resident_as_graph", resident_as_graph, 2, "word"},
                    run_case{"resident_as_graphs", resident_as_graphs, 2, "event"},
                    run_case{"resident_in_threes", resident_in_threes, 2, "word"}),
    name_of);

INSTANTIATE_TEST_SUITE_P(
    of_a_step_with_cuda, placements,
    testing::Values(run_case{"staged", staged, 2, "word", "cuda"},
                    run_case{"staged_recycled", staged_recycled, 2, "event", "cuda"},
                    run_case{"aggregated", staged_in_fives, 4, "word", "cuda"},
                    run_case{"aggregated_callback", staged_in_fives, 4, "callback", "cuda"},
                    run_case{"resident", resident, 2, "word", "cuda"},
                    run_case{"resident_plain", resident_plain, 2, "event", "cuda"},
                    run_case{"resident_in_threes", resident_in_threes, 2, "word", "cuda"},
                    run_case{"resident_as_graph", resident_as_graph, 2, "word", "cuda"},
                    run_case{"resident_as_graphs", resident_as_graphs, 2, "callback", "cuda"}),
    name_of);

INSTANTIATE_TEST_SUITE_P(
    of_a_step_with_sycl, placements,
    testing::Values(run_case{"resident", resident, 2, "event", "sycl"},
                    run_case{"resident_fused", resident_fused, 2, "event", "sycl"},
                    run_case{"resident_as_graph", resident_as_graph, 2, "callback", "sycl"}),
    name_of);
// The second residency takes as long again and differs only in code that does not depend on the
// backend: `make test-all` runs it.
INSTANTIATE_TEST_SUITE_P(nightly_of_a_step_with_sycl, placements,
                         testing::Values(run_case{"staged", staged, 2, "event", "sycl"},
                                         run_case{"aggregated", staged_in_fives, 2, "word",
                                                  "sycl"}),
                         name_of);
INSTANTIATE_TEST_SUITE_P(
    of_a_step_with_kokkos, placements,
    testing::Values(run_case{"staged_1", staged, 1, "word", "kokkos"},
                    run_case{"staged_2", staged, 2, "callback", "kokkos"},
                    run_case{"resident_1", resident, 1, "event", "kokkos"},
                    run_case{"resident_2", resident, 2, "word", "kokkos"},
                    run_case{"resident_fused", resident_fused, 2, "word", "kokkos"},
                    run_case{"resident_as_graph", resident_as_graph, 2, "callback", "kokkos"}),
    name_of);

TEST(simulation, with_fresh_memory_leaves_recycling_as_it_was) {
  starling::runtime rt(options_for(1, "word"));
  auto& source = starling::devices(rt).device(0).allocator(starling::memory_kind::device);
  const auto cached_after_use = [&source] {
    source.deallocate(source.allocate(4096), 4096);
    return source.statistics().cached;
  };
  {
    const snapshot first = make_blast(1);
    const auto sim = staged_fresh(rt, first, scheme_for(first));
    EXPECT_EQ(cached_after_use(), 0u);
  }
  EXPECT_GT(cached_after_use(), 0u);
}

TEST(simulation, does_not_step_beyond_the_limit) {
  const snapshot first = make_blast(1);
  starling::runtime rt(options_for(2, "word"));
  const auto sim = make_staged(rt, first, scheme_for(first));
  EXPECT_EQ(rt.sync_wait(sim->step(1e-5)), 1e-5);
  rt.sync_wait(sim->finish());
}

TEST(simulation, does_several_steps_up_to_the_stop_time) {
  const snapshot first = make_blast(1);
  const double after_two = serial(first, scheme_for(first), 2).time;
  const double after_three = serial(first, scheme_for(first), 3).time;
  const double stop = (after_two + after_three) / 2;
  starling::runtime rt(options_for(2, "word"));
  for (const long most : {2L, 8L}) {
    const auto sim = make_staged(rt, first, scheme_for(first));
    const step_progress done = rt.sync_wait(do_steps(*sim, {most, first.time, stop, true}));
    EXPECT_EQ(done.steps, most == 2 ? 2 : 3);
    EXPECT_EQ(done.time, most == 2 ? after_two : stop);
  }
}

TEST(simulation, of_a_wrong_ghost_direction_differs_from_the_serial_bits) {
  const snapshot first = make_blast(1);
  scheme wrong = scheme_for(first);
  wrong.error.dropped_direction = 4;
  starling::runtime rt(options_for(2, "word"));
  const auto sim = make_staged(rt, first, wrong);
  const snapshot got = rt.sync_wait(advance(*sim, 3));
  const snapshot right = serial(first, scheme_for(first), 3);
  EXPECT_NE(std::memcmp(got.data.data(), right.data.data(), right.data.size() * sizeof(double)), 0);
}

}  // namespace
}  // namespace stars::test
