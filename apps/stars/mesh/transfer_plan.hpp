// SPDX-License-Identifier: Apache-2.0
/// \file
/// The tables by which ghost cells, restriction, prolongation and flux correction find their
/// sub-grids on an octree.
#pragma once

#include <span>
#include <vector>

#include "mesh/face_link.hpp"
#include "mesh/level_link.hpp"
#include "mesh/mesh.hpp"
#include "mesh/octree.hpp"
#include "mesh/subgrid.hpp"

namespace stars {

/// The tables of one tree. Kernels read them as arrays; all entries are trivially copyable.
///
/// State arrays have *slots*, each for one sub-grid, in three runs:
/// - leaves, in the order of `octree::leaves`;
/// - *restricted* slots, in Z-order of their keys: interior nodes of the tree. Their cells are
///   means of 8 cells of their children, which are leaves where cells are needed;
/// - *prolonged* slots, in Z-order: cubes that the tree lacks, since a leaf of the level above
///   contains them. Their cells are interpolated from that leaf and its 26 neighbours.
///
/// Each ghost cell of a leaf thus has a source of the leaf's own level. The order of work is:
/// restrictions, then prolongations (which read leaves and restricted slots only, never prolonged
/// ones), then ghost cells. Within each of the three, the order does not matter.
///
/// A restricted or prolonged slot exists if a ghost cell of a leaf reads a cell of it, and only
/// these cells are filled. Prolongations read no further cells: what they read outside the coarse
/// leaf are its own ghost cells.
struct transfer_plan {
  int leaves = 0, restricted = 0, prolonged = 0;  ///< number of slots
  std::vector<node_key> keys;                     ///< by slot
  std::vector<subgrid_frame> frames;              ///< by slot: see `frame_of`
  /// [leaf][26]: the source of the ghost cells in each direction; `.slot` is a slot. In a
  /// uniform tree these are the sources of `mesh::source`.
  std::vector<ghost_source> sources;
  /// Fine slot -> needed cells of the coarse, restricted slot. `fine` is always a leaf. In order of
  /// `coarse`, then `octant`.
  std::vector<level_link> restrictions;
  /// Coarse leaf -> fine, prolonged slot: each needed coarse cell gives its 8 fine cells. The
  /// coarse cell's neighbours are found by the coarse leaf's sources. In order of `fine`; one for
  /// each.
  std::vector<level_link> prolongations;
  /// The faces of coarse leaves whose neighbours are divided: fluxes through them are replaced by
  /// means of the fine ones. In order of `coarse`, then axis, then side.
  std::vector<face_link> corrections;

  [[nodiscard]] int slot_count() const { return leaves + restricted + prolonged; }
  [[nodiscard]] subgrid_view view() const { return {frames.data(), sources.data()}; }
  [[nodiscard]] const ghost_source& source(int leaf, int direction) const {
    return sources[std::size_t(leaf) * direction_count + std::size_t(direction)];
  }
};

/// Makes the ghosts of all leaves in one direction come from the leaf's own edge: a deliberate
/// error, which a verification must find. -1: no direction.
void drop_direction(transfer_plan& plan, int direction);

/// Returns the tables of `tree` for the domain [-xscale, xscale]^3. Time and memory: linear.
[[nodiscard]] transfer_plan plan_transfers(const octree& tree, double xscale);
/// Returns the tables of a mesh whose domain has a boundary.
[[nodiscard]] transfer_plan plan_transfers(const mesh& grid, boundary_kind boundary);

}  // namespace stars
