// SPDX-License-Identifier: Apache-2.0
// Flows on several levels: the serial driver, regridding, and initial states by refinement.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "driver/regrid.hpp"
#include "tests/physics_support.hpp"

namespace stars::test {
namespace {

/// Returns a tree with random leaves of levels `min` … `max`.
octree random_tree(int min, int max, boundary_kind boundary, std::uint64_t seed) {
  octree tree = octree::uniform(min, boundary);
  generator random(seed);
  for (int round = min; round < max; ++round) {
    std::vector<refinement> marks(std::size_t(tree.leaf_count()), refinement::keep);
    for (refinement& m : marks)
      if (random() < 0.2) m = refinement::refine;
    tree = adapt(tree, marks, {min, max});
  }
  return tree;
}

class moving_gas final : public problem {
 public:
  explicit moving_gas(boundary_kind kind) : problem("moving-gas", 1.4, 1.0, kind) {}
  [[nodiscard]] gas_state gas(const double (&)[3], double) const override {
    return {1.25, 0.75, {0.5, -0.25, 0.125}, 2};
  }
};

/// A sound wave with a blob of another species in it. All species occur.
class blob final : public problem {
 public:
  explicit blob(boundary_kind kind = boundary_kind::periodic) : problem("blob", 1.4, 1.0, kind) {
    rules = {{field::rho, refinement_measure::relative_difference, 0.04}};
  }
  [[nodiscard]] gas_state gas(const double (&r)[3], double) const override {
    const double d = (r[0] - 0.2) * (r[0] - 0.2) + r[1] * r[1] + (r[2] + 0.1) * (r[2] + 0.1);
    const bool in = d < 0.09;
    const int outside = r[0] < 0.0 ? (r[1] < 0.0 ? 0 : 2) : (r[1] < 0.0 ? 3 : 4);
    return {in ? 2.0 : 1.0, 1.0 + std::exp(-20.0 * d), {0.6, 0.3, -0.4}, in ? 1 : outside};
  }
};

/// Changes the tree of a state at random.
octree changed(const snapshot& s, generator& random, level_limits limits) {
  std::vector<refinement> marks(std::size_t(s.grid.subgrid_count()), refinement::coarsen);
  for (refinement& m : marks) {
    const double r = random();
    m = r < 0.15 ? refinement::refine : r < 0.18 ? refinement::keep : refinement::coarsen;
  }
  return adapt(s.grid.tree(), marks, limits);
}

TEST(levels, a_uniform_flow_stays_uniform_across_them) {
  const moving_gas flow(boundary_kind::periodic);
  const snapshot first = initial_state(flow, random_tree(1, 3, flow.boundary, 3));
  ASSERT_FALSE(first.grid.is_uniform());
  const snapshot last = run_steps(first, scheme_for(first), 5);
  double worst = 0.0;
  for (int n = 0; n < first.grid.subgrid_count(); ++n)
    for (int f = 0; f < field_count; ++f) {
      const auto begin = first.data.begin() + std::ptrdiff_t(first.index(n, f, {}));
      const auto end = begin + cells_per_subgrid;
      const auto now = last.data.begin() + std::ptrdiff_t(last.index(n, f, {}));
      for (auto a = begin, b = now; a != end; ++a, ++b) worst = std::max(worst, std::fabs(*b - *a));
    }
  EXPECT_LE(worst, 1e-15);
}

TEST(levels, a_tree_refined_everywhere_is_the_uniform_grid) {
  const auto flow = blast_problem(2);
  octree tree = octree::uniform(1);
  const std::vector<refinement> all(8, refinement::refine);
  const snapshot a = initial_state(*flow, adapt(tree, all)), b = make_blast(2);
  EXPECT_TRUE(a.grid == b.grid);
  EXPECT_TRUE(same_bits(run_steps(a, scheme_for(a), 2).data, run_steps(b, scheme_for(b), 2).data));
}

/// Expects the sums over the domain, with what has left it, of a run with a random tree after each
/// step.
void expect_no_drift(const problem& flow, int regrids) {
  const level_limits limits{0, 2};
  const snapshot first = initial_state(flow, limits);
  snapshot now = first;
  generator random(9);
  int refined = 0, coarsened = 0, of_several_levels = 0;
  for (int k = 0; k < regrids; ++k) {
    octree next = changed(now, random, limits);
    refined += next.leaf_count() > now.grid.subgrid_count();
    coarsened += next.leaf_count() < now.grid.subgrid_count();
    now = on_tree(now, std::move(next));
    of_several_levels += !now.grid.is_uniform();
    now = run_steps(now, scheme_for(now), 1);
  }
  EXPECT_GT(std::min(refined, coarsened), regrids / 6);
  EXPECT_GT(of_several_levels, regrids / 2);
  std::vector<int> fields = {field::rho, field::egas, field::sx, field::sy, field::sz};
  for (int s = 0; s < species_count; ++s) fields.push_back(field::species + s);
  for (const int f : fields) EXPECT_LT(relative_drift(first, now, f), 1e-14) << f;
}

TEST(levels, sums_do_not_drift_over_regrids) { expect_no_drift(blob(), 120); }

TEST(levels, sums_with_outflow_do_not_drift_over_regrids) {
  expect_no_drift(blob(boundary_kind::outflow), 40);
}

TEST(levels, the_mesh_follows_a_moving_blob) {
  const blob flow;
  const level_limits limits{1, 3};
  snapshot now = initial_state(flow, limits);
  const octree start = now.grid.tree();
  now = run_steps(now, scheme_for(now), steps_between_regrids(0.4));
  regrid(now, flow.rules, limits);
  EXPECT_FALSE(start == now.grid.tree());
  EXPECT_EQ(now.grid.level(), 3);
}

TEST(levels, sums_drift_without_flux_correction) {
  const blob flow;
  snapshot first = initial_state(flow, {1, 3});
  scheme o = scheme_for(first);
  o.error.fluxes_uncorrected = true;
  const snapshot last = run_steps(first, o, 3);
  EXPECT_GT(relative_drift(first, last, field::rho), 1e-8);
  EXPECT_GT(relative_drift(first, last, field::egas), 1e-8);
}

TEST(levels, outflow_of_a_refined_face_is_accounted) {
  const auto flow = blast_problem(3, {.radius = 0.9});
  snapshot first = initial_state(*flow, random_tree(1, 3, boundary_kind::outflow, 5));
  const snapshot last = run_steps(first, scheme_for(first), 5);
  EXPECT_GT(last.outflow[field::rho], 1e-6);
  for (const int f : {int{field::rho}, int{field::egas}})
    EXPECT_LT(relative_drift(first, last, f), 1e-14) << f;
}

TEST(levels, vectors_and_single_cells_give_the_same_bits) {
  for (const auto kind : {boundary_kind::outflow, boundary_kind::reflecting}) {
    blob flow;
    flow.boundary = kind;
    const snapshot first = initial_state(flow, random_tree(0, 2, kind, 8));
    const scheme o = scheme_for(first);
    EXPECT_TRUE(same_bits(run_steps(first, o, 1, loop_kind::vectors).data,
                          run_steps(first, o, 1, loop_kind::single).data));
  }
}

TEST(levels, the_blast_is_refined_where_it_is) {
  const auto flow = blast_problem(3);
  const snapshot first = initial_state(*flow, {1, 3});
  EXPECT_EQ(first.grid.level(), 3);
  EXPECT_LT(first.grid.subgrid_count(), 200);
  EXPECT_NEAR(double(total(first, field::egas)), 1.0, 1e-13);  // as on a uniform grid
  const int centre = first.grid.tree().find({3, {4, 4, 4}});
  EXPECT_GE(centre, 0);
}

TEST(levels, of_a_first_tree_may_be_refined_in_two_parts) {
  const auto flow = blast_problem(4);
  const level_limits limits{0, 4};
  const first_tree whole = refine_first_tree(*flow, limits);
  first_tree some = refine_first_tree(*flow, limits, 2);
  EXPECT_EQ(some.tree.leaf_count(), 8);
  EXPECT_EQ(some.rounds, 3);
  for (; some.rounds > 0; --some.rounds) {
    const snapshot state = initial_state(*flow, some.tree);
    some.tree = adapt(some.tree, find_marks(state, flow->rules), limits);
  }
  EXPECT_TRUE(some.tree == whole.tree);
  EXPECT_EQ(whole.rounds, 0);
}

TEST(levels, leaves_do_not_change_to_and_fro_where_nothing_moves) {
  const auto flow = blast_problem(3);
  snapshot state = initial_state(*flow, {1, 3});
  regrid(state, flow->rules, {1, 3});
  const octree tree = state.grid.tree();
  EXPECT_FALSE(regrid(state, flow->rules, {1, 3}));
  EXPECT_TRUE(tree == state.grid.tree());
}

}  // namespace
}  // namespace stars::test
