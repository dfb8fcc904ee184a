// SPDX-License-Identifier: Apache-2.0
#include "driver/regrid.hpp"

#include <algorithm>
#include <utility>

#include "kernel/loop.hpp"
#include "mesh/regrid_plan.hpp"
#include "mesh/transfer_plan.hpp"
#include "problems/require.hpp"
#include "transfer/ghosts.hpp"
#include "transfer/prolongation.hpp"
#include "transfer/restriction.hpp"

namespace stars {
namespace {

constexpr std::uint64_t all_cells = ~std::uint64_t{0};

/// A state with the cells that ghosts of leaves are read from: the slots of a plan.
struct slot_state {
  transfer_plan plan;
  std::vector<double> u;  ///< [slots][15][512]

  explicit slot_state(const snapshot& s) : plan(plan_transfers(s.grid, s.boundary)), u(s.data) {
    u.resize(std::size_t(plan.slot_count()) * compact.block);
    run_loop(
        restriction{u.data(), u.data(), plan.restrictions.data(), int(plan.restrictions.size())});
    run_loop(prolongation{u.data(), u.data(), plan.frames.data(), plan.sources.data(),
                          plan.prolongations.data(), int(plan.prolongations.size()),
                          theta_of_ghosts, int(host_vector::size())});
  }
};

bool any_applies(std::span<const refinement_rule> rules, const std::vector<double>& ghosted_cells) {
  return needs_refinement(rules.data(), int(rules.size()), ghosted_cells.data());
}

/// Marks the leaves that are too coarse.
void mark_coarse_leaves(const snapshot& state, std::span<const refinement_rule> rules,
                        std::vector<refinement>& marks) {
  const slot_state slots(state);
  std::vector<double> u(ghosted.block);
  for (int n = 0; n < slots.plan.leaves; ++n) {
    run_loop(ghosts_of(slots.u.data(), slots.plan.view(), n, int(host_vector::size()), u.data()));
    if (any_applies(rules, u)) marks[std::size_t(n)] = refinement::refine;
  }
}

/// The state of all nodes of a tree, by number: interior nodes have the means of their children.
/// In a balanced tree all neighbours of an interior node are nodes, too.
class node_state {
 public:
  explicit node_state(const snapshot& s) : m_state(s), m_u(s.data) {
    const octree& tree = s.grid.tree();
    m_u.resize(std::size_t(tree.node_count()) * compact.block);
    for (int n = 0; n < tree.node_count(); ++n) m_frames.push_back(s.grid.frame_of(n, s.boundary));
    for (int n = tree.leaf_count(); n < tree.node_count(); ++n)
      for (int octant = 0; octant < octant_count; ++octant) {
        const level_link link{n, tree.children(n)[std::size_t(octant)], octant, all_cells};
        run_loop(restriction{m_u.data(), m_u.data(), &link, 1});
      }
  }

  /// Fills an interior node [15][14][14][14] with its ghosts.
  void fill(int node, std::vector<double>& out) const {
    const octree& tree = m_state.grid.tree();
    ghost_source sources[direction_count];
    for (int d = 0; d < direction_count; ++d) {
      const ghost_node from = ghost_node_of(tree.key(node), direction_vector(d), m_state.boundary);
      sources[d] = {tree.find(from.node), {from.rule[0], from.rule[1], from.rule[2]}};
    }
    run_loop(ghost_fill{m_u.data(), out.data(), m_frames.data(), sources, node, 1, false,
                        int(host_vector::size())});
  }

 private:
  const snapshot& m_state;
  std::vector<double> m_u;
  std::vector<subgrid_frame> m_frames;
};

/// Marks the leaves whose parent would not be too coarse.
void mark_fine_leaves(const snapshot& state, std::span<const refinement_rule> rules,
                      std::vector<refinement>& marks) {
  const octree& tree = state.grid.tree();
  const node_state nodes(state);
  std::vector<double> u(ghosted.block);
  for (int n = tree.leaf_count(); n < tree.node_count(); ++n) {
    const auto& children = tree.children(n);
    const bool stays = std::any_of(children.begin(), children.end(), [&](int child) {
      return !tree.is_leaf(child) || marks[std::size_t(child)] == refinement::refine;
    });
    if (stays) continue;
    nodes.fill(n, u);
    if (any_applies(rules, u)) continue;
    for (const int child : children) marks[std::size_t(child)] = refinement::coarsen;
  }
}

}  // namespace

std::vector<refinement> find_marks(const snapshot& state, std::span<const refinement_rule> rules) {
  std::vector<refinement> marks(std::size_t(state.grid.subgrid_count()), refinement::keep);
  mark_coarse_leaves(state, rules, marks);
  mark_fine_leaves(state, rules, marks);
  return marks;
}

snapshot on_tree(const snapshot& state, octree next) {
  const regrid_plan plan = plan_regrid(state.grid.tree(), next);
  const slot_state before(state);
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
                        theta_of_refinement, int(host_vector::size())});
  return after;
}

bool regrid(snapshot& state, std::span<const refinement_rule> rules, const level_limits& limits) {
  const std::vector<refinement> marks = find_marks(state, rules);
  octree next = adapt(state.grid.tree(), marks, limits);
  if (next == state.grid.tree()) return false;
  state = on_tree(state, std::move(next));
  return true;
}

snapshot initial_state(const problem& flow, const level_limits& limits) {
  require(limits.min >= 0 && limits.min <= limits.max, "min-level must be 0 to the level");
  snapshot state;
  state.gamma = flow.gamma;
  state.problem = flow.name;
  state.boundary = flow.boundary;
  octree tree = octree::uniform(limits.min, flow.boundary);
  for (int round = limits.min;; ++round) {
    state.grid = {tree, flow.xscale};
    state.data.resize(snapshot::size_of(state.grid));
    for (int n = 0; n < state.grid.subgrid_count(); ++n)
      fill_subgrid(flow, state.grid.frame_of(n, state.boundary),
                   &state.data[state.index(n, 0, {})]);
    if (round == limits.max) return state;
    octree next = adapt(tree, find_marks(state, flow.rules), limits);
    if (next == tree) return state;
    tree = std::move(next);
  }
}

}  // namespace stars
