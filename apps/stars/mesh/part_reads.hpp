// SPDX-License-Identifier: Apache-2.0
/// \file
/// The cells that the parts of a domain read of each other.
#pragma once

#include <algorithm>
#include <compare>
#include <map>
#include <span>
#include <vector>

#include "mesh/part_cuts.hpp"
#include "mesh/transfer_plan.hpp"

namespace stars {

/// A box of cells from `lower` to before `upper`; initially empty.
struct cell_range {
  int lower[3] = {edge, edge, edge};
  int upper[3] = {0, 0, 0};

  void add(int axis, int cell) {
    lower[axis] = std::min(lower[axis], cell);
    upper[axis] = std::max(upper[axis], cell + 1);
  }
  [[nodiscard]] bool empty() const {
    return lower[0] >= upper[0] || lower[1] >= upper[1] || lower[2] >= upper[2];
  }
  /// Returns the cells that are in both boxes.
  [[nodiscard]] cell_range within(const cell_range& other) const;
  /// Grows this box until it contains the other one.
  void include(const cell_range& other);
};

/// What one part reads of another one: cells of a leaf, or of an octant of a restricted slot.
struct read_key {
  int other;   ///< the part that is read, or that reads
  int slot;    ///< of the whole domain
  int octant;  ///< -1: a leaf

  friend auto operator<=>(const read_key&, const read_key&) = default;
};

/// What one part reads of the others, and they of it, by the tables of the whole domain.
class part_reads {
 public:
  part_reads(const transfer_plan& whole, std::span<const int> first_leaves, int number);

  using cell_ranges = std::map<read_key, cell_range>;
  [[nodiscard]] const cell_ranges& incoming() const { return m_incoming; }
  [[nodiscard]] const cell_ranges& outgoing() const { return m_outgoing; }
  /// Returns the numbers in `transfer_plan::prolongations` of those that the part's leaves read.
  [[nodiscard]] const std::vector<int>& prolongations() const { return m_prolongations; }

  /// Returns the part that has a leaf.
  [[nodiscard]] int owner(int leaf) const { return part_of(m_first, leaf); }

 private:
  void find_links();
  void read_ghosts();
  void read_stencils();
  void add_stencil(int reader, const level_link& link);
  void add(int reader, int slot, const cell_range& cells);
  void put(int reader, int owner, int slot, int octant, const cell_range& cells);
  [[nodiscard]] bool is_prolonged(int slot) const {
    return slot >= m_whole.leaves + m_whole.restricted;
  }

  const transfer_plan& m_whole;
  std::span<const int> m_first;
  int m_number;
  cell_ranges m_incoming, m_outgoing;
  std::vector<int> m_links;  // by restricted slot: its first restriction; one more at the end
  struct prolonged_for {
    int prolongation, reader;
    friend auto operator<=>(const prolonged_for&, const prolonged_for&) = default;
  };
  std::vector<prolonged_for> m_prolonged;
  std::vector<int> m_prolongations;
};

}  // namespace stars
