// SPDX-License-Identifier: Apache-2.0
/// \file
/// The domain cut into parts, and which cells of others each part reads.
#pragma once

#include <vector>

#include "mesh.hpp"

namespace sedov {

/// Cells of one sub-grid that another part reads: the smallest box that holds them.
struct halo_box {
  int slot;   ///< of the sub-grid in the arrays of the part that uses the box
  int begin;  ///< cells of the boxes before it
  triple lower, size;
};

/// What a part exchanges with one other. Both list the same sub-grids' boxes in the same order.
struct halo {
  int other = 0;  ///< number of that part
  std::vector<halo_box> outgoing, incoming;
  int outgoing_cells = 0, incoming_cells = 0;
};

/// One of `parts` runs of consecutive sub-grids, equal in size as can be. Along the Z-order these
/// are compact: a part whose size is a power of 8 is a cube.
///
/// Arrays of a part have slots: its own sub-grids in their order, then those of others that it
/// reads, part by part in their order.
class partition {
 public:
  /// The whole domain: slots are numbers of sub-grids.
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
  /// By number of a sub-grid; -1 where the part has none. Empty for the whole domain.
  [[nodiscard]] const std::vector<int>& slots() const { return m_slots; }
  /// Of the parts whose sub-grids it reads, by their number: they read its own.
  [[nodiscard]] const std::vector<halo>& halos() const { return m_halos; }

  /// The first sub-grid of a part.
  [[nodiscard]] static int first_of(const mesh& grid, int parts, int number) {
    return int(std::int64_t{grid.subgrid_count()} * number / parts);
  }

 private:
  int m_number = 0;
  int m_first = 0;
  int m_count;
  std::vector<int> m_read;
  std::vector<int> m_slots;
  std::vector<halo> m_halos;
};

}  // namespace sedov
