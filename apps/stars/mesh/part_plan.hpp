// SPDX-License-Identifier: Apache-2.0
/// \file
/// The tables of a part of the domain, and the cells and fluxes that parts exchange.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "mesh/face_link.hpp"
#include "mesh/leaf_moves.hpp"
#include "mesh/level_link.hpp"
#include "mesh/subgrid.hpp"
#include "mesh/transfer_plan.hpp"

namespace stars {

/// Cells of a sub-grid that another part reads: the smallest box that contains them.
struct halo_box {
  int slot;   ///< of the sub-grid, in the arrays of the part that uses the box
  int begin;  ///< number of cells in the boxes before it
  triple lower, size;
};

/// The exchange of a part with one other part. Both parts list the same boxes and faces in the same
/// order.
struct halo {
  int other = 0;  ///< number of that part
  std::vector<halo_box> outgoing, incoming;
  int outgoing_cells = 0, incoming_cells = 0;
  int outgoing_row = 0, outgoing_rows = 0;  ///< first row and number of rows of mean fluxes
  int incoming_row = 0, incoming_rows = 0;
};

/// A part of the domain: a run of consecutive leaves of a tree, and its tables. It is a
/// `transfer_plan` in slots of its own, with what other parts send:
/// - own leaves: first the *independent* ones, which need neither cells of other parts nor fluxes
/// of
///   other sub-grids; then those that read cells of other parts, also by way of prolongations; last
///   the *corrected* ones, which have faces between levels on their coarse side. Each group is in
///   the order of the tree;
/// - leaves of other parts: first those whose `sources` prolongations need;
/// - restricted slots: a part restricts its own leaves; other octants are received;
/// - prolonged slots: a part prolongs all those that its leaves read.
///
/// All tables may be read as arrays by kernels.
struct part_plan {
  int number = 0;            ///< of the part
  int first = 0, count = 0;  ///< its own leaves are [first, first + count), numbers in the tree
  int independent = 0;       ///< number of independent leaves
  int corrected = 0;         ///< first slot of a corrected leaf; `count`: there is none
  int slot_count = 0;
  std::vector<int> slots;             ///< [count]: own slot of leaf first + k
  std::vector<subgrid_frame> frames;  ///< by slot
  /// [own leaves and some of other parts][26]: sources of ghost cells. Sources that are not read
  /// are the sub-grid itself.
  std::vector<ghost_source> sources;
  std::vector<level_link> restrictions;  ///< of own leaves
  /// First the *independent* ones, which read no cells of other parts; each group in order of
  /// `fine`.
  std::vector<level_link> prolongations;
  int independent_prolongations = 0;
  std::vector<fine_face> fine_faces;      ///< of own leaves, in order of slots
  std::vector<coarse_face> coarse_faces;  ///< of own leaves, in order of slots
  int face_rows = 0;                      ///< own rows, then received ones
  std::vector<halo> halos;                ///< with the parts that read this one or that it reads

  [[nodiscard]] subgrid_view view() const { return {frames.data(), sources.data()}; }
  /// Return the faces of `n` own sub-grids from slot `begin` on.
  [[nodiscard]] std::span<const fine_face> fine_faces_of(int begin, int n) const {
    return of_slots(fine_faces, begin, n);
  }
  [[nodiscard]] std::span<const coarse_face> coarse_faces_of(int begin, int n) const {
    return of_slots(coarse_faces, begin, n);
  }

 private:
  template <class Face>
  static std::span<const Face> of_slots(const std::vector<Face>& all, int begin, int n) {
    const auto from = [&](int slot) {
      return std::partition_point(all.begin(), all.end(),
                                  [slot](const Face& f) { return f.slot < slot; });
    };
    return {from(begin), from(begin + n)};
  }
};

/// Returns part `number`. `first_leaves` has the first leaf of each part. Time: linear in the
/// leaves of the whole tree.
[[nodiscard]] part_plan plan_part(const transfer_plan& whole, std::span<const int> first_leaves,
                                  int number);

/// Returns the whole domain as one part. `dropped_direction`: see `drop_direction`.
[[nodiscard]] part_plan plan_whole(const snapshot& state, int dropped_direction = -1);

/// Returns the first leaves of parts whose sizes differ by one leaf at most.
[[nodiscard]] std::vector<int> equal_parts(int leaves, int parts);

/// Replaces numbers of own leaves, of the present tree or of the next one, by their slots.
void present_to_slots(const part_plan& at, leaf_moves& moves);
void next_to_slots(const part_plan& at, leaf_moves& moves);

/// Copies sub-grids [count][15][512] from the order of the tree to that of slots, or back.
void to_slots(const part_plan& at, const double* in_order, double* in_slots);
void from_slots(const part_plan& at, const double* in_slots, double* in_order);

}  // namespace stars
