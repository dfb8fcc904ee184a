// SPDX-License-Identifier: Apache-2.0
/// \file
/// The way of the state from the parts of one tree to those of the next.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "mesh/level_link.hpp"
#include "mesh/regrid_plan.hpp"

namespace stars {

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

/// What a part has to do for the next tree: it makes sub-grids from its own leaves and sends them
/// to the parts that will have them.
class leaf_sender {
 public:
  /// `now`, `next`: the first leaf of each part. The parts of both trees are the same ones.
  leaf_sender(const regrid_plan& plan, std::span<const int> now, std::span<const int> next,
              int leaves, int number);

  /// Return links for `part_simulation::transfer`.
  [[nodiscard]] const std::vector<level_link>& restrictions() const { return m_restrictions; }
  [[nodiscard]] const std::vector<level_link>& prolongations() const { return m_prolongations; }

  /// Returns the number of sub-grids and octants for a part.
  [[nodiscard]] std::size_t pieces_for(int part) const {
    return m_pieces[std::size_t(part)].size();
  }
  /// Returns a message for a part with at most `most` of them, from number `begin` on. `own`: the
  /// leaves of the sender, in order; `made`: the result of `transfer`.
  [[nodiscard]] moved_leaves message(int part, std::size_t begin, std::size_t most,
                                     std::span<const double> own,
                                     std::span<const double> made) const;

 private:
  struct piece {
    int leaf, octant;
    int own, row;  ///< its place in `own` or in `made`; the other one is -1
  };
  std::vector<level_link> m_restrictions, m_prolongations;
  std::vector<std::vector<piece>> m_pieces;  ///< by part
};

/// Returns how many sub-grids and octants the part with the leaves from `first` to before `end` of
/// the next tree gets.
[[nodiscard]] std::size_t pieces_of(const regrid_plan& plan, int first, int end);

/// Copies the sub-grids of a message to the state of the leaves from `first` on.
/// \throws std::invalid_argument if the message does not fit the state
void receive_leaves(const moved_leaves& message, int first, std::vector<double>& state);

}  // namespace stars
