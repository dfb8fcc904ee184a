// SPDX-License-Identifier: Apache-2.0
/// \file
/// The transfer of the state from the leaves of one tree to the leaves of the next.
#pragma once

#include <vector>

#include "mesh/level_link.hpp"
#include "mesh/octree.hpp"

namespace stars {

/// The origin of each leaf of the new tree. Slots of the old tree are read, slots of the new tree
/// are written, so the two states need arrays of their own. All slots are leaves.
struct regrid_plan {
  struct copy {
    int from, to;  ///< old slot, new slot
  };
  /// Leaves of both trees, by number.
  std::vector<copy> copies;
  /// New leaf <- means of eight old leaves: `coarse` is a new slot, `fine` an old one; eight links,
  /// by octant, for each merged leaf. All cells are needed.
  std::vector<level_link> restrictions;
  /// New leaf <- octant of an old leaf: `coarse` is an old slot, `fine` a new one; eight links for
  /// each divided leaf. All cells are needed. The neighbours of coarse cells are found by the
  /// sources of the old tree's `transfer_plan`, whose restrictions and prolongations must have been
  /// applied to the old state.
  std::vector<level_link> prolongations;
};

/// Returns the plan from `before` to `after`. Throws std::invalid_argument that names a node if a
/// leaf of one tree is in, or contains, leaves of the other one that differ by more than a level,
/// or if the boundaries differ. Time: linear.
[[nodiscard]] regrid_plan plan_regrid(const octree& before, const octree& after);

}  // namespace stars
