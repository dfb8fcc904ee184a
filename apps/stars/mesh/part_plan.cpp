// SPDX-License-Identifier: Apache-2.0
#include "mesh/part_plan.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "mesh/layout.hpp"
#include "mesh/part_reads.hpp"

namespace stars {
namespace {

class part_planner {
 public:
  part_planner(const transfer_plan& whole, std::span<const int> first_leaves, int number)
      : m_whole(whole), m_reads(whole, first_leaves, number) {
    const auto p = std::size_t(number);
    m_plan.number = number;
    m_plan.first = first_leaves[p];
    m_plan.count =
        (p + 1 < first_leaves.size() ? first_leaves[p + 1] : whole.leaves) - m_plan.first;
  }

  part_plan make() {
    find_received();
    number_own();
    number_others();
    add_sources();
    add_links();
    add_halos();
    add_faces();
    return std::move(m_plan);
  }

 private:
  [[nodiscard]] bool is_own(int leaf) const {
    return leaf >= m_plan.first && leaf < m_plan.first + m_plan.count;
  }
  [[nodiscard]] int& local(int slot) { return m_local[std::size_t(slot)]; }

  /// Gives a slot of the whole domain the next slot of the part, unless it has one.
  void add_slot(int slot) {
    if (local(slot) >= 0) return;
    local(slot) = m_plan.slot_count++;
    m_plan.frames.push_back(m_whole.frames[std::size_t(slot)]);
    m_plan.frames.back().number = slot < m_whole.leaves ? slot : -1;
  }

  void number_own() {
    m_local.assign(std::size_t(m_whole.slot_count()), -1);
    // By leaf: 0 independent, 1 reads cells of other parts, 2 corrected.
    std::vector<int> group(std::size_t(m_plan.count));
    for (int k = 0; k < m_plan.count; ++k)
      group[std::size_t(k)] = reads_received(m_plan.first + k) ? 1 : 0;
    for (const face_link& f : m_whole.corrections)
      if (is_own(f.coarse)) group[std::size_t(f.coarse - m_plan.first)] = 2;
    const auto add_group = [&](int wanted) {
      for (int k = 0; k < m_plan.count; ++k)
        if (group[std::size_t(k)] == wanted) add_slot(m_plan.first + k);
      return m_plan.slot_count;
    };
    m_plan.independent = add_group(0);
    m_plan.corrected = add_group(1);
    add_group(2);
    for (int k = 0; k < m_plan.count; ++k) m_plan.slots.push_back(local(m_plan.first + k));
  }

  /// Finds the slots that are filled from cells of other parts, also by prolongation.
  void find_received() {
    m_is_received.assign(std::size_t(m_whole.slot_count()), false);
    for (const auto& [key, cells] : m_reads.incoming()) m_is_received[std::size_t(key.slot)] = true;
    std::vector<int> prolonged;  // no stencil has cells of a prolonged slot
    for (const int k : m_reads.prolongations()) {
      const level_link& link = m_whole.prolongations[std::size_t(k)];
      if (is_received(link.coarse) || reads_received(link.coarse)) prolonged.push_back(link.fine);
    }
    for (const int slot : prolonged) m_is_received[std::size_t(slot)] = true;
  }
  [[nodiscard]] bool is_received(int slot) const { return m_is_received[std::size_t(slot)]; }
  /// Returns whether ghosts of a leaf come from such slots.
  [[nodiscard]] bool reads_received(int leaf) const {
    for (int d = 0; d < direction_count; ++d)
      if (is_received(m_whole.source(leaf, d).slot)) return true;
    return false;
  }

  /// In the order of the fields' description: leaves with sources, other leaves, restricted slots,
  /// prolonged slots.
  void number_others() {
    std::set<int> coarse, restricted;
    for (const int k : m_reads.prolongations())
      coarse.insert(m_whole.prolongations[std::size_t(k)].coarse);
    for (const level_link& link : m_whole.restrictions)
      if (is_own(link.fine)) restricted.insert(link.coarse);
    for (const int slot : coarse) add_slot(slot);
    m_rows = m_plan.slot_count;
    for (const auto& [key, cells] : m_reads.incoming()) {
      if (key.octant < 0) add_slot(key.slot);
      if (key.octant >= 0) restricted.insert(key.slot);
    }
    for (const int slot : restricted) add_slot(slot);
    for (const int k : m_reads.prolongations())
      add_slot(m_whole.prolongations[std::size_t(k)].fine);
  }

  void add_sources() {
    m_plan.sources.resize(std::size_t(m_rows) * direction_count);
    for (int leaf = 0; leaf < m_whole.leaves; ++leaf) {
      const int row = local(leaf);
      if (row < 0 || row >= m_rows) continue;
      for (int d = 0; d < direction_count; ++d) {
        ghost_source s = m_whole.source(leaf, d);
        s.slot = local(s.slot);
        m_plan.sources[std::size_t(row * direction_count + d)] =
            s.slot >= 0 ? s : ghost_source{row, {}};
      }
    }
  }

  void add_links() {
    for (level_link link : m_whole.restrictions) {
      if (!is_own(link.fine)) continue;
      link.coarse = local(link.coarse);
      link.fine = local(link.fine);
      m_plan.restrictions.push_back(link);
    }
    for (const bool received : {false, true}) {
      for (const int k : m_reads.prolongations()) {
        level_link link = m_whole.prolongations[std::size_t(k)];
        if (is_received(link.fine) != received) continue;
        link.coarse = local(link.coarse);
        link.fine = local(link.fine);
        m_plan.prolongations.push_back(link);
      }
      if (!received) m_plan.independent_prolongations = int(m_plan.prolongations.size());
    }
  }

  halo& halo_with(int other) {
    const auto at = std::lower_bound(m_plan.halos.begin(), m_plan.halos.end(), other,
                                     [](const halo& h, int part) { return h.other < part; });
    if (at != m_plan.halos.end() && at->other == other) return *at;
    halo h;
    h.other = other;
    return *m_plan.halos.insert(at, h);
  }
  void add_box(std::vector<halo_box>& boxes, int& cells, int slot, const cell_range& c) {
    const triple lower{c.lower[0], c.lower[1], c.lower[2]};
    const triple size{c.upper[0] - lower.x, c.upper[1] - lower.y, c.upper[2] - lower.z};
    boxes.push_back({local(slot), cells, lower, size});
    cells += size.x * size.y * size.z;
  }
  void add_halos() {
    for (const auto& [key, cells] : m_reads.incoming()) {
      halo& h = halo_with(key.other);
      add_box(h.incoming, h.incoming_cells, key.slot, cells);
    }
    for (const auto& [key, cells] : m_reads.outgoing()) {
      halo& h = halo_with(key.other);
      add_box(h.outgoing, h.outgoing_cells, key.slot, cells);
    }
  }

  /// A quadrant of a coarse face, one of whose sub-grids is an own one.
  struct quadrant {
    int correction, number;
    int from, to;  ///< the parts of the fine and of the coarse sub-grid
  };
  /// Numbers the rows: those for own coarse faces, those for each other part, those from each other
  /// part.
  void add_faces() {
    std::vector<quadrant> all;
    for (int c = 0; c < int(m_whole.corrections.size()); ++c) {
      const face_link& link = m_whole.corrections[std::size_t(c)];
      for (int q = 0; q < 4; ++q) {
        const quadrant one{c, q, m_reads.owner(link.fine[q]), m_reads.owner(link.coarse)};
        if (one.from == m_plan.number || one.to == m_plan.number) all.push_back(one);
        if (one.from == one.to) continue;
        if (one.from == m_plan.number) halo_with(one.to).outgoing_rows += 1;
        if (one.to == m_plan.number) halo_with(one.from).incoming_rows += 1;
      }
    }
    m_rows_of.assign(m_whole.corrections.size(), {-1, -1, -1, -1});
    const auto add_rows = [&](int from, int to) {
      for (const quadrant& one : all)
        if (one.from == from && one.to == to)
          m_rows_of[std::size_t(one.correction)][std::size_t(one.number)] = m_plan.face_rows++;
    };
    add_rows(m_plan.number, m_plan.number);
    for (halo& h : m_plan.halos) {
      h.outgoing_row = m_plan.face_rows;
      add_rows(m_plan.number, h.other);
    }
    for (halo& h : m_plan.halos) {
      h.incoming_row = m_plan.face_rows;
      add_rows(h.other, m_plan.number);
    }
    for (const quadrant& one : all)
      if (one.from == m_plan.number) add_fine_face(one);
    for (std::size_t c = 0; c < m_whole.corrections.size(); ++c)
      if (is_own(m_whole.corrections[c].coarse)) add_coarse_face(c);
    std::stable_sort(m_plan.fine_faces.begin(), m_plan.fine_faces.end(),
                     [](const fine_face& a, const fine_face& b) { return a.slot < b.slot; });
    std::stable_sort(m_plan.coarse_faces.begin(), m_plan.coarse_faces.end(),
                     [](const coarse_face& a, const coarse_face& b) { return a.slot < b.slot; });
  }
  void add_fine_face(const quadrant& one) {
    const face_link& link = m_whole.corrections[std::size_t(one.correction)];
    const int fine = link.fine[one.number];
    const double shift =
        plane(link.coarse, link.axis, link.side) - plane(fine, link.axis, 1 - link.side);
    m_plan.fine_faces.push_back({local(fine), link.axis, 1 - link.side,
                                 m_rows_of[std::size_t(one.correction)][std::size_t(one.number)],
                                 shift});
  }
  void add_coarse_face(std::size_t correction) {
    const face_link& link = m_whole.corrections[correction];
    const auto& rows = m_rows_of[correction];
    m_plan.coarse_faces.push_back(
        {local(link.coarse), link.axis, link.side, {rows[0], rows[1], rows[2], rows[3]}});
  }
  /// Returns the coordinate of a sub-grid's lower or upper face.
  [[nodiscard]] double plane(int leaf, int axis, int side) const {
    const subgrid_frame& in = m_whole.frames[std::size_t(leaf)];
    return (2.0 * edge * side + in.lower[axis]) * in.half_dx;
  }

  const transfer_plan& m_whole;
  part_reads m_reads;
  std::vector<bool> m_is_received;  // by slot of the whole domain
  part_plan m_plan;
  std::vector<int> m_local;  // by slot of the whole domain: slot of the part, or -1
  int m_rows = 0;            // slots with sources
  std::vector<std::array<int, 4>> m_rows_of;  // by correction and quadrant
};

}  // namespace

part_plan plan_whole(const snapshot& state, int dropped_direction) {
  transfer_plan whole = plan_transfers(state.grid, state.boundary);
  drop_direction(whole, dropped_direction);
  const int first = 0;
  return plan_part(whole, {&first, 1}, 0);
}

part_plan plan_part(const transfer_plan& whole, std::span<const int> first_leaves, int number) {
  return part_planner(whole, first_leaves, number).make();
}

std::vector<int> equal_parts(int leaves, int parts) {
  std::vector<int> first;
  for (int p = 0; p < parts; ++p) first.push_back(int(std::int64_t{leaves} * p / parts));
  return first;
}

void present_to_slots(const part_plan& at, leaf_moves& moves) {
  for (leaf_move& m : moves.copies) m.from = at.slots[std::size_t(m.from)];
  for (level_link& l : moves.restrictions) l.fine = at.slots[std::size_t(l.fine)];
  for (level_link& l : moves.prolongations) l.coarse = at.slots[std::size_t(l.coarse)];
}
void next_to_slots(const part_plan& at, leaf_moves& moves) {
  for (leaf_move& m : moves.copies) m.to = at.slots[std::size_t(m.to)];
  for (level_link& l : moves.restrictions) l.coarse = at.slots[std::size_t(l.coarse)];
  for (level_link& l : moves.prolongations) l.fine = at.slots[std::size_t(l.fine)];
}

void to_slots(const part_plan& at, const double* in_order, double* in_slots) {
  for (int k = 0; k < at.count; ++k)
    std::copy_n(in_order + index_type{k} * compact.block, compact.block,
                in_slots + index_type{at.slots[std::size_t(k)]} * compact.block);
}

void from_slots(const part_plan& at, const double* in_slots, double* in_order) {
  for (int k = 0; k < at.count; ++k)
    std::copy_n(in_slots + index_type{at.slots[std::size_t(k)]} * compact.block, compact.block,
                in_order + index_type{k} * compact.block);
}

}  // namespace stars
