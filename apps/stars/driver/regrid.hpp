// SPDX-License-Identifier: Apache-2.0
/// \file
/// The mesh follows the flow: marks, balance, and the state on the next tree.
#pragma once

#include <limits>
#include <span>
#include <vector>

#include "mesh/adapt.hpp"
#include "mesh/leaf_flags.hpp"
#include "mesh/mesh.hpp"
#include "problems/problem.hpp"

namespace stars {

/// Returns how many steps may pass between two regrids: what is in a leaf then stays within the two
/// layers of cells around it that the rules test.
constexpr int steps_between_regrids(double cfl) { return static_cast<int>(2.0 / cfl + 0.5); }

/// Returns the marks of all leaves by the rules of a problem. `weight`: of gas beyond walls,
/// `scheme::weight`.
[[nodiscard]] std::vector<refinement> find_marks(const snapshot& state,
                                                 std::span<const refinement_rule> rules,
                                                 double weight = 0.0);

/// Returns the state on another tree: unchanged cells, means of eight cells, or interpolated cells,
/// by restriction and prolongation. Sums over the domain change by rounding only.
/// `weight`: as for `find_marks`.
/// \throws std::invalid_argument if leaves change by more than one level
[[nodiscard]] snapshot on_tree(const snapshot& state, octree next, double weight = 0.0);

/// Changes the tree of `state` once by the rules. Returns whether it has changed.
/// `weight`: as for `find_marks`.
bool regrid(snapshot& state, std::span<const refinement_rule> rules, const level_limits& limits,
            double weight = 0.0);

/// A tree for the initial state, on the way from a uniform one to one that the rules of the problem
/// leave unchanged.
struct first_tree {
  octree tree;
  int rounds;  ///< how often the tests may still refine it
};

/// Refines a uniform tree of `limits.min` by the initial state and the rules of the problem, until
/// it has `enough` leaves, nothing changes, or it may have leaves on `limits.max`. Needs memory for
/// the state on the last tree but one.
[[nodiscard]] first_tree refine_first_tree(const problem& flow, const level_limits& limits,
                                           int enough = std::numeric_limits<int>::max());

/// Returns the initial state on a mesh that is refined by the rules of the problem, from a uniform
/// mesh of `limits.min` on, until nothing changes or all of it is on `limits.max`.
[[nodiscard]] snapshot initial_state(const problem& flow, const level_limits& limits);

}  // namespace stars
