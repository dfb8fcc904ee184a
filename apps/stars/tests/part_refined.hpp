// SPDX-License-Identifier: Apache-2.0
/// \file
/// States on trees in which a part of the domain is refined once.
#pragma once

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

}  // namespace stars::test
