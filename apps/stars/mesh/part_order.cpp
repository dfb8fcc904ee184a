// SPDX-License-Identifier: Apache-2.0
#include "mesh/part_order.hpp"

#include <algorithm>

#include "mesh/cell_masks.hpp"

namespace stars {
namespace {

void make_unique(std::vector<int>& list) {
  std::sort(list.begin(), list.end());
  list.erase(std::unique(list.begin(), list.end()), list.end());
}

/// Returns the octant that contains a box of a restricted slot.
int octant_of(const halo_box& box) {
  const triple p = box.lower;
  return p.x / octant_edge + 2 * (p.y / octant_edge) + 4 * (p.z / octant_edge);
}

}  // namespace

part_order::part_order(const part_plan& plan)
    : m_leaves(plan.count), m_restrictions(int(plan.restrictions.size())),
      m_prolongations(int(plan.prolongations.size())) {
  find_sources(plan);
  find_reads(plan);
  find_readers(plan);
  find_sent(plan);
  find_fluxes_sent(plan);
  m_fills.clear();
}

void part_order::find_sources(const part_plan& plan) {
  m_fills.resize(std::size_t(plan.slot_count));
  const auto add = [this](int slot, int fill) { m_fills[std::size_t(slot)].push_back(fill); };
  for (int n = 0; n < m_leaves; ++n) add(n, leaf(n));
  for (int k = 0; k < m_restrictions; ++k)
    add(plan.restrictions[std::size_t(k)].coarse, restriction(k));
  for (int k = 0; k < m_prolongations; ++k)
    add(plan.prolongations[std::size_t(k)].fine, prolongation(k));
  for (int h = 0; h < int(plan.halos.size()); ++h)
    for (const halo_box& box : plan.halos[std::size_t(h)].incoming) add(box.slot, received(h));
}

void part_order::read(int fill, int slot) {
  auto& reads = m_reads[std::size_t(fill)];
  for (const int other : m_fills[std::size_t(slot)])
    if (other != fill) reads.push_back(other);
}

void part_order::find_reads(const part_plan& plan) {
  m_reads.resize(std::size_t(m_leaves + m_restrictions + m_prolongations) + plan.halos.size());
  const auto read_sources = [&](int fill, int row) {
    for (int d = 0; d < direction_count; ++d) read(fill, plan.view().sources_of(row)[d].slot);
    make_unique(m_reads[std::size_t(fill)]);
  };
  for (int n = 0; n < m_leaves; ++n) read_sources(leaf(n), n);
  for (int k = 0; k < m_restrictions; ++k)
    read(restriction(k), plan.restrictions[std::size_t(k)].fine);
  for (int k = 0; k < m_prolongations; ++k) {
    const int coarse = plan.prolongations[std::size_t(k)].coarse;
    read(prolongation(k), coarse);
    read_sources(prolongation(k), coarse);
    // The row may name further prolonged slots, but no stencil has cells of them.
    std::erase_if(m_reads[std::size_t(prolongation(k))],
                  [this](int fill) { return fill >= prolongation(0) && fill < received(0); });
  }
}

void part_order::find_readers(const part_plan& plan) {
  m_readers.resize(m_reads.size());
  const auto is_prolongation = [this](int fill) {
    return fill >= prolongation(0) && fill < received(0);
  };
  const auto add = [&](int fill, int reader) {
    m_readers[std::size_t(fill)].push_back(reader);
    if (fill < restriction(0) || fill >= prolongation(0)) return;
    const int fine = plan.restrictions[std::size_t(fill - restriction(0))].fine;
    m_readers[std::size_t(leaf(fine))].push_back(reader);
  };
  for (int n = 0; n < m_leaves; ++n)
    for (const int fill : reads(leaf(n))) {
      add(fill, n);
      if (!is_prolongation(fill)) continue;
      for (const int further : reads(fill)) add(further, n);
    }
  for (auto& list : m_readers) make_unique(list);
}

void part_order::find_sent(const part_plan& plan) {
  m_sent.resize(plan.halos.size());
  m_halos_of.resize(std::size_t(m_leaves));
  for (int h = 0; h < int(plan.halos.size()); ++h) {
    for (const halo_box& box : plan.halos[std::size_t(h)].outgoing)
      for (const int fill : m_fills[std::size_t(box.slot)]) {
        if (fill >= prolongation(0)) continue;  // an octant of another part
        int from = fill;
        if (fill >= restriction(0)) {
          const level_link& link = plan.restrictions[std::size_t(fill - restriction(0))];
          if (link.octant != octant_of(box)) continue;
          from = link.fine;
        }
        m_sent[std::size_t(h)].push_back(fill);
        m_halos_of[std::size_t(from)].push_back(h);
      }
    make_unique(m_sent[std::size_t(h)]);
  }
  for (auto& list : m_halos_of) make_unique(list);
}

void part_order::find_fluxes_sent(const part_plan& plan) {
  std::vector<int> leaf_of_row(std::size_t(plan.face_rows), -1);
  for (const fine_face& face : plan.fine_faces) leaf_of_row[std::size_t(face.row)] = face.slot;
  m_fluxes_sent.resize(plan.halos.size());
  m_flux_halos_of.resize(std::size_t(m_leaves));
  for (int h = 0; h < int(plan.halos.size()); ++h) {
    const halo& one = plan.halos[std::size_t(h)];
    for (int row = one.outgoing_row; row < one.outgoing_row + one.outgoing_rows; ++row) {
      const int leaf = leaf_of_row[std::size_t(row)];
      m_fluxes_sent[std::size_t(h)].push_back(leaf);
      m_flux_halos_of[std::size_t(leaf)].push_back(h);
    }
    make_unique(m_fluxes_sent[std::size_t(h)]);
  }
  for (auto& list : m_flux_halos_of) make_unique(list);
}

}  // namespace stars
