// SPDX-License-Identifier: Apache-2.0
#include "driver/regrid.hpp"

#include <algorithm>
#include <utility>

#include "kernel/loop.hpp"
#include "mesh/regrid_plan.hpp"
#include "mesh/transfer_plan.hpp"
#include "problems/require.hpp"
#include "problems/test_one.hpp"
#include "transfer/ghosts.hpp"
#include "transfer/prolongation.hpp"
#include "transfer/restriction.hpp"

namespace stars {
namespace {

/// A state with the cells that ghosts of leaves are read from: the slots of a plan.
struct slot_state {
  transfer_plan plan;
  std::vector<double> u;  ///< [slots][15][512]

  explicit slot_state(const snapshot& s, double weight = 0.0)
      : plan(plan_transfers(s.grid, s.boundary)), u(s.data) {
    u.resize(std::size_t(plan.slot_count()) * compact.block);
    run_loop(
        restriction{u.data(), u.data(), plan.restrictions.data(), int(plan.restrictions.size())});
    run_loop(prolongation{u.data(), u.data(), plan.frames.data(), plan.sources.data(),
                          plan.prolongations.data(), int(plan.prolongations.size()),
                          theta_of_ghosts, int(host_vector::size()), false, weight});
  }
};

}  // namespace

std::vector<refinement> find_marks(const snapshot& state, std::span<const refinement_rule> rules,
                                   double weight) {
  const slot_state slots(state, weight);
  std::vector<leaf_flags> flags(std::size_t(slots.plan.leaves));
  std::vector<double> u(ghosted.block);
  for (int n = 0; n < slots.plan.leaves; ++n) {
    run_loop(ghosts_of(slots.u.data(), slots.plan.view(), n, int(host_vector::size()), u.data(),
                       false, weight));
    flags[std::size_t(n)] = test_one(u.data(), rules);
  }
  return find_marks(state.grid.tree(), flags);
}

snapshot on_tree(const snapshot& state, octree next, double weight) {
  const regrid_plan plan = plan_regrid(state.grid.tree(), next);
  const slot_state before(state, weight);
  snapshot after = state;
  after.grid = {std::move(next), state.grid.xscale()};
  after.data.resize(snapshot::size_of(after.grid));
  double* to = after.data.data();
  for (const auto& [old_leaf, leaf] : plan.copies)
    std::copy_n(&before.u[std::size_t(old_leaf) * compact.block], compact.block,
                to + index_type{leaf} * compact.block);
  run_loop(
      restriction{before.u.data(), to, plan.restrictions.data(), int(plan.restrictions.size())});
  run_loop(prolongation{before.u.data(), to, before.plan.frames.data(), before.plan.sources.data(),
                        plan.prolongations.data(), int(plan.prolongations.size()),
                        theta_of_refinement, int(host_vector::size()), false, weight});
  return after;
}

bool regrid(snapshot& state, std::span<const refinement_rule> rules, const level_limits& limits,
            double weight) {
  const std::vector<refinement> marks = find_marks(state, rules, weight);
  octree next = adapt(state.grid.tree(), marks, limits);
  if (next == state.grid.tree()) return false;
  state = on_tree(state, std::move(next), weight);
  return true;
}

first_tree refine_first_tree(const problem& flow, const level_limits& limits, int enough) {
  require(limits.min >= 0 && limits.min <= limits.max, "min-level must be 0 to the level");
  const double weight = flow.gravity / (flow.gamma - 1.0);
  first_tree first{octree::uniform(limits.min, flow.boundary), limits.max - limits.min};
  while (first.rounds > 0 && first.tree.leaf_count() < enough) {
    const snapshot state = initial_state(flow, first.tree);
    octree next = adapt(first.tree, find_marks(state, flow.rules, weight), limits);
    first.rounds = next == first.tree ? 0 : first.rounds - 1;
    first.tree = std::move(next);
  }
  return first;
}

snapshot initial_state(const problem& flow, const level_limits& limits) {
  return initial_state(flow, refine_first_tree(flow, limits).tree);
}

}  // namespace stars
