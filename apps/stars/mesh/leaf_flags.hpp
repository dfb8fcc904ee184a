// SPDX-License-Identifier: Apache-2.0
/// \file
/// The results of the refinement tests of a leaf, and the marks that follow from them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "mesh/adapt.hpp"

namespace stars {

/// Where in a leaf a refinement rule applies, as far as marks depend on it. Each part tests its own
/// leaves, by their ghosted cells alone: the flags of all leaves then say which leaves of a tree
/// are to be changed.
struct leaf_flags {
  /// Numbers of flags. Those of faces are the first of six, see `face`.
  enum number : int {
    in_band = 0,         ///< in the leaf, or in the two layers of cells beyond its faces
    own_at_face = 1,     ///< in the two layers of its cells at this face
    in_coarse = 7,       ///< in the means of eight cells
    coarse_at_face = 8,  ///< in the two layers of means at this face
  };
  static constexpr int face(int axis, int side) { return 2 * axis + side; }

  std::uint16_t bits = 0;

  [[nodiscard]] constexpr bool has(int n) const { return (bits >> n & 1) != 0; }
  constexpr void set(int n, bool value) {
    bits = static_cast<std::uint16_t>((bits & ~(1u << n)) | unsigned{value} << n);
  }
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
