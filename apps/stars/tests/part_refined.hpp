// SPDX-License-Identifier: Apache-2.0
/// \file
/// States on trees in which a part of the domain is refined once.
#pragma once

#include <utility>
#include <vector>

#include "mesh/adapt.hpp"
#include "tests/physics_support.hpp"

namespace stars::test {

enum class fine_part { octant, column };  ///< the lower one of the domain; a column along x

/// Returns a tree of leaves of a level, those in a part of the domain refined once.
inline octree with_fine(fine_part part, int level, boundary_kind boundary) {
  const octree coarse = octree::uniform(level, boundary);
  std::vector<refinement> marks(std::size_t(coarse.leaf_count()), refinement::keep);
  for (int n = 0; n < coarse.leaf_count(); ++n) {
    const node_key& key = coarse.key(n);
    const int half = key.per_edge() / 2;
    const bool column = key.place.y < half && key.place.z < half;
    if (column && (part == fine_part::column || key.place.x < half))
      marks[std::size_t(n)] = refinement::refine;
  }
  return adapt(coarse, marks);
}

/// Returns the initial state of a flow on a tree.
inline snapshot state_on(octree tree, const problem& flow) {
  snapshot s;
  s.grid = {std::move(tree), flow.xscale};
  s.gamma = flow.gamma;
  s.problem = flow.name;
  s.boundary = flow.boundary;
  s.data.resize(snapshot::size_of(s.grid));
  for (int n = 0; n < s.grid.subgrid_count(); ++n)
    fill_subgrid(flow, s.grid.frame_of(n, s.boundary), &s.data[s.index(n, 0, {})]);
  return s;
}

}  // namespace stars::test
