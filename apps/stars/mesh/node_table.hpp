// SPDX-License-Identifier: Apache-2.0
/// \file
/// A hash table from nodes to numbers.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "mesh/node_key.hpp"

namespace stars {

/// Numbers of nodes, by key: open addressing with linear probing, at most half full. Reading from
/// several threads is safe.
class node_table {
 public:
  node_table() : node_table(0) {}
  /// Has room for `nodes` nodes before it grows.
  explicit node_table(std::size_t nodes)
      : m_entries(std::bit_ceil(2 * nodes + 2)), m_shift(64 - std::countr_zero(m_entries.size())) {}

  /// Returns the number of a node, -1 if the table has no such node.
  [[nodiscard]] int find(const node_key& node) const {
    return m_entries[place_of(node.code())].number;
  }
  /// Adds a node with `number` ≥ 0 unless the table has it; returns its number in the table.
  int insert(const node_key& node, int number) {
    if (2 * (m_count + 1) > m_entries.size()) grow();
    entry& e = m_entries[place_of(node.code())];
    if (e.code == 0) {
      e = {node.code(), number};
      ++m_count;
    }
    return e.number;
  }

 private:
  struct entry {
    std::uint64_t code = 0;  ///< 0: free
    int number = -1;
  };

  /// Returns the place of a code: its entry, or the free entry in which it belongs.
  [[nodiscard]] std::size_t place_of(std::uint64_t code) const {
    // The multiplication spreads codes, which differ in few bits, over the upper bits.
    std::size_t place = code * 0x9e3779b97f4a7c15u >> m_shift;
    while (m_entries[place].code != code && m_entries[place].code != 0)
      place = (place + 1) & (m_entries.size() - 1);
    return place;
  }
  void grow() {
    const std::vector<entry> old =
        std::exchange(m_entries, std::vector<entry>(2 * m_entries.size()));
    --m_shift;
    for (const entry& e : old)
      if (e.code != 0) m_entries[place_of(e.code)] = e;
  }

  std::vector<entry> m_entries;
  int m_shift;
  std::size_t m_count = 0;
};

}  // namespace stars
