// SPDX-License-Identifier: Apache-2.0
#include "mesh/partition.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "mesh/ghost_regions.hpp"

namespace stars {
namespace {

/// A box of cells from `lower` to before `upper`; initially empty.
struct cell_range {
  int lower[3] = {edge, edge, edge};
  int upper[3] = {0, 0, 0};

  void add(int axis, int cell) {
    lower[axis] = std::min(lower[axis], cell);
    upper[axis] = std::max(upper[axis], cell + 1);
  }
};

/// Boxes by part and number of sub-grid.
using cell_ranges = std::map<std::pair<int, int>, cell_range>;

/// Adds the cells of a source that fill the ghosts of direction `d`.
void add_sources(cell_range& cells, const ghost_source& s, int d) {
  const triple v = direction_vector(d);
  for (int a = 0; a < 3; ++a)
    for (int i = 0; i < ghost_size(v[a]); ++i)
      cells.add(a, source_cell(ghost_begin(v[a]) + i, v[a], s.rule[a]));
}

void add_box(std::vector<halo_box>& boxes, int& cells, int slot, const cell_range& c) {
  const triple lower{c.lower[0], c.lower[1], c.lower[2]};
  const triple size{c.upper[0] - lower.x, c.upper[1] - lower.y, c.upper[2] - lower.z};
  boxes.push_back({slot, cells, lower, size});
  cells += size.x * size.y * size.z;
}

}  // namespace

partition::partition(const mesh& grid, boundary_kind boundary, int parts, int number)
    : m_number(number), m_first(first_of(grid, parts, number)),
      m_count(first_of(grid, parts, number + 1) - m_first) {
  const auto part_of = [&](int n) {
    int guess = int(std::int64_t{n} * parts / grid.subgrid_count());
    while (n >= first_of(grid, parts, guess + 1)) ++guess;
    return guess;
  };
  const auto is_own = [&](int n) { return n >= m_first && n < m_first + m_count; };
  cell_ranges read, shown;
  for (int n = m_first; n < m_first + m_count; ++n)
    for (int d = 0; d < direction_count; ++d) {
      const ghost_source s = grid.source(n, d, boundary);
      if (is_own(s.slot)) continue;
      const int other = part_of(s.slot);
      add_sources(read[{other, s.slot}], s, d);
      // A part that is read reads back: directions come in opposite pairs.
      for (int back = 0; back < direction_count; ++back)
        if (const ghost_source own = grid.source(s.slot, back, boundary); own.slot == n)
          add_sources(shown[{other, n}], own, back);
    }
  m_slots.assign(std::size_t(grid.subgrid_count()), -1);
  for (int k = 0; k < m_count; ++k) m_slots[std::size_t(m_first + k)] = k;
  for (const auto& [where, cells] : read) {
    const int slot = m_slots[std::size_t(where.second)] = slot_count();
    m_read.push_back(where.second);
    if (m_halos.empty() || m_halos.back().other != where.first) {
      m_halos.emplace_back();
      m_halos.back().other = where.first;
    }
    add_box(m_halos.back().incoming, m_halos.back().incoming_cells, slot, cells);
  }
  auto to = m_halos.begin();
  for (const auto& [where, cells] : shown) {
    while (to->other != where.first) ++to;
    add_box(to->outgoing, to->outgoing_cells, where.second - m_first, cells);
  }
}

}  // namespace stars
