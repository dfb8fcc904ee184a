// SPDX-License-Identifier: Apache-2.0
/// \file
/// The operations of a solve.
#pragma once

#include "gravity/tables.hpp"

namespace stars {

/// Additions, multiplications, divisions and roots of one interaction, each counted as one,
/// by the formulae of expansion.hpp: pairs of cells of leaves, and pairs of cells of interior nodes
/// with correction.
inline constexpr int operations_of_pair = 8;
inline constexpr int operations_of_far_pair = 18 + 47 + 108 + 21 + 71;

/// Operations of the pairs of leaves and of interior nodes of one level. Pairs across levels and
/// what moves moments and expansions along the tree are not counted.
struct gravity_operations {
  double near, far;
};

[[nodiscard]] gravity_operations count_operations(const octree& tree, double theta);

}  // namespace stars
