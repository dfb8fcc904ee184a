// SPDX-License-Identifier: Apache-2.0
/// \file
/// The leaves of the next tree from those of the present one.
#pragma once

#include <cstdint>
#include <vector>

#include "mesh/level_link.hpp"

namespace stars {

/// A sub-grid, or one of its octants, from one array to another.
struct leaf_move {
  int from, to;
  int octant;  ///< -1: the whole sub-grid
};

/// Leaves of the next tree that are made from own leaves of the present one. Leaves are counted
/// from the first own one of their tree on.
struct leaf_moves {
  std::vector<leaf_move> copies;  ///< leaves that are the same in both trees
  std::vector<level_link>
      restrictions;  ///< octants: `fine` of the present tree, `coarse` of the next
  std::vector<level_link> prolongations;  ///< `coarse` of the present tree, `fine` of the next
};

/// Returns the number of rows that leaves for other parts need.
inline std::size_t rows_in(const leaf_moves& moves) {
  return moves.copies.size() + moves.restrictions.size() + moves.prolongations.size();
}

/// Sub-grids of the next tree, and octants of them, in a message from one part to another.
struct moved_leaves {
  std::vector<int> leaves;           ///< of the next tree
  std::vector<std::int8_t> octants;  ///< -1: the whole sub-grid
  std::vector<double> data;          ///< [15][512] or, for an octant, [15][64]

  template <class Archive>
  void serialize(Archive& ar) {
    ar(leaves, octants, data);
  }
};

}  // namespace stars
