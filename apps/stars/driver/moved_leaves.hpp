// SPDX-License-Identifier: Apache-2.0
/// \file
/// The way of the state from the parts of one tree to those of the next.
#pragma once

#include <span>
#include <vector>

#include "mesh/leaf_moves.hpp"
#include "mesh/regrid_plan.hpp"

namespace stars {

/// What a part has to do for the next tree: it makes sub-grids from its own leaves and sends them
/// to the parts that will have them.
class leaf_sender {
 public:
  /// `now`, `next`: the first leaf of each part. The parts of both trees are the same ones.
  leaf_sender(const regrid_plan& plan, std::span<const int> now, std::span<const int> next,
              int number);

  /// Returns what stays in the part.
  [[nodiscard]] const leaf_moves& kept() const { return m_kept; }
  /// Returns what goes to other parts: the argument of `part_simulation::rows_of`. Leaves of the
  /// next tree are rows of its result.
  [[nodiscard]] const leaf_moves& sent() const { return m_sent; }

  /// Returns the number of sub-grids and octants for a part.
  [[nodiscard]] std::size_t pieces_for(int part) const {
    return m_pieces[std::size_t(part)].size();
  }
  /// Returns a message for a part with at most `most` of them, from number `begin` on. `rows`: the
  /// result of `rows_of`.
  [[nodiscard]] moved_leaves message(int part, std::size_t begin, std::size_t most,
                                     std::span<const double> rows) const;

 private:
  struct piece {
    int leaf, octant, row;
  };
  leaf_moves m_kept, m_sent;
  std::vector<std::vector<piece>> m_pieces;  ///< by part
};

/// Returns how many sub-grids and octants a part gets from other parts. `next` as above.
[[nodiscard]] std::size_t pieces_from_others(const regrid_plan& plan, std::span<const int> now,
                                             std::span<const int> next, int number);

}  // namespace stars
