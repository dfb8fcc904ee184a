// SPDX-License-Identifier: Apache-2.0
/// \file
/// The division of the domain into parts, and the cells of other parts that each part reads.
#pragma once

#include <vector>

#include "mesh/mesh.hpp"

namespace stars {

/// Cells of a sub-grid that another part reads: the smallest box that contains them.
struct halo_box {
  int slot;   ///< of the sub-grid, in the arrays of the part that uses the box
  int begin;  ///< number of cells in the boxes before it
  triple lower, size;
};

/// The exchange of a part with one other part. Both parts list the boxes of the same sub-grids in
/// the same order.
struct halo {
  int other = 0;  ///< number of that part
  std::vector<halo_box> outgoing, incoming;
  int outgoing_cells = 0, incoming_cells = 0;
};

/// One of `parts` runs of consecutive sub-grids, whose sizes differ by at most one. In Z-order
/// these are compact: a part whose size is a power of 8 is a cube.
///
/// The arrays of a part have slots: for its own sub-grids in their order, then for the sub-grids of
/// other parts that it reads, part by part in their order.
class partition {
 public:
  /// The whole domain as one part: slots are numbers of sub-grids.
  explicit partition(const mesh& grid) : m_count(grid.subgrid_count()) {}
  /// `parts` ≤ sub-grids
  partition(const mesh& grid, boundary_kind boundary, int parts, int number);

  [[nodiscard]] int number() const { return m_number; }
  [[nodiscard]] int first() const { return m_first; }
  [[nodiscard]] int count() const { return m_count; }
  [[nodiscard]] int slot_count() const { return m_count + int(m_read.size()); }
  [[nodiscard]] int subgrid_in(int slot) const {
    return slot < m_count ? m_first + slot : m_read[std::size_t(slot - m_count)];
  }
  /// Returns the slot of a sub-grid; -1 if the part has none.
  [[nodiscard]] int slot_of(int subgrid) const {
    return m_slots.empty() ? subgrid : m_slots[std::size_t(subgrid)];
  }
  /// Returns the halos with the parts whose sub-grids this part reads, by their number. These parts
  /// also read its sub-grids.
  [[nodiscard]] const std::vector<halo>& halos() const { return m_halos; }

  /// Returns the first sub-grid of a part.
  [[nodiscard]] static int first_of(const mesh& grid, int parts, int number) {
    return int(std::int64_t{grid.subgrid_count()} * number / parts);
  }

 private:
  int m_number = 0;
  int m_first = 0;
  int m_count;
  std::vector<int> m_read;
  std::vector<int> m_slots;  // by number of sub-grid; empty: slots are these numbers
  std::vector<halo> m_halos;
};

}  // namespace stars
