// SPDX-License-Identifier: Apache-2.0
#include "gravity/operation_count.hpp"

namespace stars {
namespace {

/// Returns how many cells of a node have partners for which `exists(node)` holds.
template <class Exists>
double count_partners(const gravity_view& tree, int node, const stencil_view& partners,
                      const Exists& exists) {
  double count = 0.0;
  for (int place = 0; place < cells_per_subgrid; ++place) {
    const int group = place / cells_per_group;
    for (int n = partners.begin[group]; n < partners.begin[group + 1]; ++n) {
      const node_cell c =
          tree.find(node, position_in_group(place % cells_per_group), partners.partners[n]);
      count += c.node >= 0 && exists(c.node);
    }
  }
  return count;
}

}  // namespace

gravity_operations count_operations(const octree& tree, double theta) {
  const gravity_tables tables(tree, 1.0, theta);
  const gravity_plan plan = tables.plan();
  double near = 0.0, far = 0.0;
  for (int leaf = 0; leaf < plan.tree.leaves; ++leaf)
    near += count_partners(plan.tree, leaf, plan.all,
                           [&](int node) { return plan.tree.is_leaf(node); });
  for (const node_list& level : plan.interior)
    for (int k = 0; k < level.count; ++k)
      far += count_partners(plan.tree, level.nodes[k],
                            &level == &plan.interior.front() ? plan.far_in_root : plan.far,
                            [](int) { return true; });
  return {operations_of_pair * near, operations_of_far_pair * far};
}

}  // namespace stars
