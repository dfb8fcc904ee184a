// SPDX-License-Identifier: Apache-2.0
/// \file
/// The results of the refinement tests of a leaf, and the marks that follow from them.
#pragma once

#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "mesh/adapt.hpp"
#include "mesh/subgrid.hpp"

namespace stars {

/// The cells of a leaf to which a rule applies. Each part tests its own leaves, by their ghosted
/// cells alone: the flags of all leaves then say which leaves of a tree are to be changed.
struct leaf_flags {
  static constexpr int band_width = 2;                     ///< layers of cells around the leaf
  static constexpr int band_edge = edge + 2 * band_width;  ///< 12
  static constexpr int rows = band_edge * band_edge;       ///< (y + 2) + 12 (z + 2)
  static constexpr int coarse_edge = edge / 2;

  using row_bits = std::conditional_t<(edge > 8), std::uint16_t, std::uint8_t>;

  /// By row: whether a rule applies in one of its cells, -2 … 9. Cells beyond edges and vertices
  /// are not tested.
  std::uint8_t band[rows];
  row_bits own[edge * edge];                       ///< by row y + 8z of the leaf: bit x
  std::uint8_t coarse[coarse_edge * coarse_edge];  ///< the same for the means of 8 cells, 4^3
};

/// Returns the mark of each leaf: `refine` if a rule applies to it, or to the two layers of cells
/// beyond its faces, which the flow may reach before the next test; `coarsen` if it is one of
/// eight leaves whose parent, with the two layers of its own cells beyond its faces, no rule
/// applies to; otherwise `keep`. Before and after a change of level the same cells are tested, so
/// that leaves do not change to and fro. Exceptions, in which parents are kept: beside nodes that
/// are divided twice, until these are not; and at an outflow face, where the ghost cells of a leaf
/// are steeper than those of its parent. Time: linear.
[[nodiscard]] std::vector<refinement> find_marks(const octree& tree,
                                                 std::span<const leaf_flags> flags);

}  // namespace stars
