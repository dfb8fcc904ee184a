// SPDX-License-Identifier: Apache-2.0
#include "mesh/regrid_plan.hpp"

#include <cstdint>
#include <stdexcept>

namespace stars {

regrid_plan plan_regrid(const octree& before, const octree& after) {
  if (before.boundary() != after.boundary())
    throw std::invalid_argument("regrid: the boundaries of the trees differ");
  constexpr octant_set all_cells = octant_set::all();
  regrid_plan plan;
  const auto refuse = [](const node_key& node) {
    throw std::invalid_argument("regrid: more than one level of difference at the " +
                                describe(node));
  };
  int old = 0, now = 0;  // both at the same position in Z-order
  while (now < after.leaf_count()) {
    const node_key &from = before.key(old), &to = after.key(now);
    if (from.level == to.level) {
      plan.copies.push_back({old++, now++});
    } else if (from.level > to.level) {
      for (int octant = 0; octant < 8; ++octant, ++old) {
        if (before.key(old).level != to.level + 1) refuse(to);
        plan.restrictions.push_back({now, old, octant, all_cells});
      }
      ++now;
    } else {
      for (int octant = 0; octant < 8; ++octant, ++now) {
        if (after.key(now).level != from.level + 1) refuse(from);
        plan.prolongations.push_back({old, now, octant, all_cells});
      }
      ++old;
    }
  }
  return plan;
}

}  // namespace stars
