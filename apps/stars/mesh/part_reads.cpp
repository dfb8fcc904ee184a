// SPDX-License-Identifier: Apache-2.0
#include "mesh/part_reads.hpp"

#include "mesh/ghost_regions.hpp"
#include "mesh/octant_cells.hpp"

namespace stars {
namespace {

/// Returns the cells of a source that fill the ghosts of direction `v`.
cell_range sources_of_ghosts(const ghost_source& s, triple v) {
  cell_range cells;
  for (int a = 0; a < 3; ++a)
    for (int i = 0; i < ghost_size(v[a]); ++i)
      cells.add(a, source_cell(ghost_begin(v[a]) + i, v[a], s.rule[a]));
  return cells;
}

cell_range octant_range(int octant) {
  cell_range cells;
  for (int a = 0; a < 3; ++a) {
    cells.lower[a] = (octant >> a & 1) * (edge / 2);
    cells.upper[a] = cells.lower[a] + edge / 2;
  }
  return cells;
}

/// Returns the smallest box with the needed coarse cells of a link and their neighbours, -1 … edge.
cell_range stencils_of(const level_link& link) {
  cell_range cells;
  for (int k = 0; k < cells_per_octant; ++k) {
    if (!link.cells.contains(k)) continue;
    const triple cell = coarse_cell(link.octant, k);
    for (int a = 0; a < 3; ++a) cells.add(a, cell[a]);
  }
  for (int a = 0; a < 3; ++a) {
    cells.lower[a] -= 1;
    cells.upper[a] += 1;
  }
  return cells;
}

/// The cells of a coordinate that a component of a direction has, one layer of ghosts included.
cell_range layer(triple v) {
  cell_range cells;
  for (int a = 0; a < 3; ++a) {
    cells.lower[a] = v[a] < 0 ? -1 : v[a] > 0 ? edge : 0;
    cells.upper[a] = v[a] < 0 ? 0 : v[a] > 0 ? edge + 1 : edge;
  }
  return cells;
}

}  // namespace

cell_range cell_range::within(const cell_range& other) const {
  cell_range both;
  for (int a = 0; a < 3; ++a) {
    both.lower[a] = std::max(lower[a], other.lower[a]);
    both.upper[a] = std::min(upper[a], other.upper[a]);
  }
  return both;
}

void cell_range::include(const cell_range& other) {
  for (int a = 0; a < 3; ++a) {
    lower[a] = std::min(lower[a], other.lower[a]);
    upper[a] = std::max(upper[a], other.upper[a]);
  }
}

part_reads::part_reads(const transfer_plan& whole, std::span<const int> first_leaves, int number)
    : m_whole(whole), m_first(first_leaves), m_number(number) {
  find_links();
  read_ghosts();
  read_stencils();
}

void part_reads::find_links() {
  m_links.reserve(std::size_t(m_whole.restricted) + 1);
  int next = 0;
  const int count = int(m_whole.restrictions.size());
  for (int slot = m_whole.leaves; slot < m_whole.leaves + m_whole.restricted; ++slot) {
    m_links.push_back(next);
    while (next < count && m_whole.restrictions[std::size_t(next)].coarse == slot) ++next;
  }
  m_links.push_back(next);
}

void part_reads::read_ghosts() {
  for (int n = 0; n < m_whole.leaves; ++n) {
    const int reader = owner(n);
    for (int d = 0; d < direction_count; ++d) {
      const ghost_source& s = m_whole.source(n, d);
      if (is_prolonged(s.slot)) {
        m_prolonged.push_back({s.slot - m_whole.leaves - m_whole.restricted, reader});
      } else {
        add(reader, s.slot, sources_of_ghosts(s, direction_vector(d)));
      }
    }
  }
  std::sort(m_prolonged.begin(), m_prolonged.end());
  m_prolonged.erase(std::unique(m_prolonged.begin(), m_prolonged.end()), m_prolonged.end());
}

void part_reads::read_stencils() {
  for (const auto& [prolongation, reader] : m_prolonged) {
    add_stencil(reader, m_whole.prolongations[std::size_t(prolongation)]);
    if (reader == m_number) m_prolongations.push_back(prolongation);
  }
}

void part_reads::add_stencil(int reader, const level_link& link) {
  const cell_range all = stencils_of(link);
  for (int code = 0; code < 27; ++code) {
    const triple v = {code % 3 - 1, code / 3 % 3 - 1, code / 9 - 1};
    const cell_range read = all.within(layer(v));
    if (read.empty()) continue;
    ghost_source s{link.coarse, {}};
    if (v != triple{}) s = m_whole.source(link.coarse, direction_index(v));
    if (is_prolonged(s.slot)) continue;  // in the box, but in no stencil
    cell_range cells;
    for (int a = 0; a < 3; ++a)
      for (int i = read.lower[a]; i < read.upper[a]; ++i)
        cells.add(a, source_cell(i, v[a], s.rule[a]));
    add(reader, s.slot, cells);
  }
}

void part_reads::add(int reader, int slot, const cell_range& cells) {
  if (slot < m_whole.leaves) return put(reader, owner(slot), slot, -1, cells);
  const auto row = std::size_t(slot - m_whole.leaves);
  for (int k = m_links[row]; k < m_links[row + 1]; ++k) {
    const level_link& link = m_whole.restrictions[std::size_t(k)];
    const cell_range own = cells.within(octant_range(link.octant));
    if (!own.empty()) put(reader, owner(link.fine), slot, link.octant, own);
  }
}

void part_reads::put(int reader, int owner, int slot, int octant, const cell_range& cells) {
  if (reader == owner) return;
  if (reader == m_number) m_incoming[{owner, slot, octant}].include(cells);
  if (owner == m_number) m_outgoing[{reader, slot, octant}].include(cells);
}

}  // namespace stars
