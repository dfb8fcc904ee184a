// SPDX-License-Identifier: Apache-2.0
/// \file
/// Common code of the tests of gravity.
#pragma once

#include <cmath>
#include <vector>

#include "gravity/direct_sum.hpp"
#include "gravity/serial_gravity.hpp"
#include "tests/mesh_support.hpp"

namespace stars::test {

inline std::size_t cell_count(const octree& tree) {
  return std::size_t(tree.leaf_count()) * cells_per_subgrid;
}
inline std::vector<double> results_for(const octree& tree) {
  return std::vector<double>(result_count * cell_count(tree));
}

/// Returns densities over six decades: symmetric stars have no torque that a test could find.
inline std::vector<double> random_density(const octree& tree, std::uint64_t seed) {
  generator random(seed);
  std::vector<double> density(cell_count(tree));
  for (double& rho : density) rho = std::pow(10.0, -6.0 * random());
  return density;
}

/// Returns a tree with three refined octants.
inline octree three_octants_refined() {
  std::vector<node_key> leaves;
  for (int o = 0; o < octant_count; ++o) {
    const node_key key = node_key{}.child(o);
    if (o >= 3) leaves.push_back(key);
    for (int p = 0; o < 3 && p < octant_count; ++p) leaves.push_back(key.child(p));
  }
  return octree(leaves);
}

inline std::vector<double> solved(const octree& tree, const std::vector<double>& density,
                                  const gravity_options& options, double xscale = 1.0) {
  std::vector<double> results = results_for(tree);
  serial_gravity(tree, xscale, options).solve({density.data(), cells_per_subgrid}, results);
  return results;
}

}  // namespace stars::test
