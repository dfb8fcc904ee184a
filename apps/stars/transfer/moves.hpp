// SPDX-License-Identifier: Apache-2.0
/// \file
/// Leaves and octants of them on their way to the next tree.
#pragma once

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "mesh/layout.hpp"
#include "mesh/leaf_moves.hpp"
#include "mesh/octant_cells.hpp"

namespace stars {

/// Sub-grids of `to` <- sub-grids of `from`, whole or one octant. Range (512, 15, count).
struct move_leaves {
  const double* from;      ///< [15][512] each
  double* to;              ///< [15][512] each
  const leaf_move* moves;  ///< [count]
  int count;

  constexpr extent range() const { return {cells_per_subgrid, field_count, count}; }
  template <class Index>
  constexpr void operator()(Index i) const {
    const leaf_move& move = moves[i.z];
    const triple c = {i.x % edge, i.x / edge % edge, i.x / (edge * edge)};
    const int octant = c.x / octant_edge + 2 * (c.y / octant_edge) + 4 * (c.z / octant_edge);
    if (move.octant >= 0 && move.octant != octant) return;
    const index_type at = index_type{i.y} * compact.field + i.x;
    to[index_type{move.to} * compact.block + at] = from[index_type{move.from} * compact.block + at];
  }
};

/// Calls `f(offset in the sub-grid, offset in the octant)` for each row of an octant's cells.
template <class F>
void for_each_octant_row(int octant, F f) {
  const triple first = coarse_cell(octant, 0);
  std::size_t at = 0;
  for (int field = 0; field < field_count; ++field)
    for (int z = 0; z < octant_edge; ++z)
      for (int y = 0; y < octant_edge; ++y, at += octant_edge)
        f(std::size_t(compact_at(0, field, first.x, first.y + y, first.z + z)), at);
}

/// Returns the numbers of a sub-grid, or of an octant, in a message.
constexpr std::size_t size_of_piece(int octant) {
  return octant < 0 ? std::size_t(compact.block) : std::size_t{field_count} * cells_per_octant;
}

/// Appends a sub-grid [15][512], or an octant of it, to a message.
inline void append_piece(std::vector<double>& data, const double* subgrid, int octant) {
  const std::size_t begin = data.size();
  data.resize(begin + size_of_piece(octant));
  if (octant < 0) {
    std::copy_n(subgrid, compact.block, &data[begin]);
  } else {
    for_each_octant_row(octant, [&](std::size_t from, std::size_t to) {
      std::copy_n(subgrid + from, octant_edge, &data[begin + to]);
    });
  }
}

/// Copies the pieces of a message to rows [15][512] of their own, and returns the moves from these
/// rows to the leaves of a part, which are counted from `first` on.
/// \throws std::invalid_argument if the message does not fit `count` leaves
inline std::vector<leaf_move> unpack_pieces(const moved_leaves& message, int first, int count,
                                            double* rows) {
  std::vector<leaf_move> moves;
  std::size_t at = 0;
  for (std::size_t k = 0; k < message.leaves.size(); ++k) {
    const int leaf = message.leaves[k] - first;
    const int octant = k < message.octants.size() ? message.octants[k] : octant_count;
    if (leaf < 0 || leaf >= count || octant < -1 || octant >= octant_count ||
        at + size_of_piece(octant) > message.data.size())
      throw std::invalid_argument("moved leaves: not those of this part");
    const double* from = &message.data[at];
    double* row = rows + k * compact.block;
    if (octant < 0) {
      std::copy_n(from, compact.block, row);
    } else {
      for_each_octant_row(octant, [&](std::size_t in_leaf, std::size_t in_octant) {
        std::copy_n(from + in_octant, octant_edge, row + in_leaf);
      });
    }
    moves.push_back({int(k), leaf, octant});
    at += size_of_piece(octant);
  }
  return moves;
}

}  // namespace stars
