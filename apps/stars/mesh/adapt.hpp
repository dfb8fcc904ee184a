// SPDX-License-Identifier: Apache-2.0
/// \file
/// Refinement and coarsening of an octree.
#pragma once

#include <cstdint>
#include <span>

#include "mesh/octree.hpp"

namespace stars {

/// The change that a refinement test asks for.
enum class refinement : std::int8_t { coarsen = -1, keep = 0, refine = 1 };

/// The levels that leaves may have.
struct level_limits {
  int min = 0;
  int max = max_level;
};

/// Returns the tree after one round of changes. `marks` has one mark for each leaf, by number.
///
/// Each leaf changes by at most one level:
/// - A leaf is divided if it is marked `refine` and is below `limits.max`, if it is below
///   `limits.min`, or if 2:1 balance requires that for another divided leaf.
/// - Eight leaves with the same parent become one leaf if all of them are marked `coarsen` and are
///   above `limits.min`, or are above `limits.max`; none of them is divided; and the result keeps
///   the balance.
///
/// The set of divided leaves is the smallest, and then the set of merged leaves the largest, with
/// these properties; both are unique. Throws std::invalid_argument if `marks` has another size,
/// or unless 0 ≤ min ≤ max ≤ deepest_level. Time: linear.
[[nodiscard]] octree adapt(const octree& tree, std::span<const refinement> marks,
                           level_limits limits = {});

}  // namespace stars
