// SPDX-License-Identifier: Apache-2.0
/// \file
/// The coarse cells of an octant as vectors: the form of prolongation that suits caches.
#pragma once

#include <cstdint>

#include "kernel/lanes.hpp"
#include "kernel/unrolled.hpp"
#include "mesh/layout.hpp"
#include "mesh/level_link.hpp"
#include "mesh/octant_cells.hpp"
#include "transfer/cell_source.hpp"
#include "transfer/child_fields.hpp"

namespace stars {

/// An octant with one layer of cells around it, in rows: where its cells are stored, and which
/// parts of its rows the stencils of needed cells contain. The remaining parts are not read: their
/// sub-grids may not exist, or another thread may be writing them.
class octant_rows {
 public:
  static constexpr int row = octant_edge + 2;  ///< cells of a row, with both neighbours
  static constexpr int plane = row * row;
  static constexpr int cells = row * plane;

  /// `sources`: [26], of the coarse sub-grid.
  constexpr octant_rows(const level_link& link, const ghost_source* sources) {
    for (int k = 0; k < plane; ++k) find_row(link, sources, k % row - 1, k / row - 1);
  }

  /// to <- field f of all cells that are read, [6][6][6]. `beyond(at)` returns its value in a cell
  /// beyond the domain.
  template <class Beyond>
  constexpr void copy(const double* state, int f, double* to, Beyond beyond) const {
    for (int k = 0; k < plane; ++k, to += row) {
      const piece* p = m_pieces[k];
      for (int part = 0; part < 3; ++part) {
        const int begin = part == 0 ? 0 : part == 1 ? 1 : row - 1;
        const int end = part == 0 ? 1 : part == 1 ? row - 1 : row;
        if (p[part].how == kind::stored) {
          const double* in = state + p[part].at + f * compact.field;
          for (int x = begin; x < end; ++x) to[x] = in[x - begin];
        } else if (p[part].how == kind::transformed) {
          for (int x = begin; x < end; ++x) to[x] = beyond(triple{x, k % row, k / row});
        }
      }
    }
  }

 private:
  enum class kind : std::int8_t { unread, stored, transformed };
  /// The first cell, the middle ones or the last one of a row.
  struct piece {
    index_type at;  ///< offset of field 0 of its first cell
    kind how;
  };

  constexpr void find_row(const level_link& link, const ghost_source* sources, int y, int z) {
    unsigned needed = 0;  // bit x
    for (int dz = -1; dz <= 1; ++dz) {
      for (int dy = -1; dy <= 1; ++dy) {
        const int ny = y + dy, nz = z + dz;
        if (ny < 0 || ny >= octant_edge || nz < 0 || nz >= octant_edge) continue;
        needed |= link.cells.row(ny, nz);
      }
    }
    const triple first = coarse_cell(link.octant, 0);
    const bool read[3] = {(needed & 1u) != 0, needed != 0, (needed >> (octant_edge - 1) & 1u) != 0};
    for (int part = 0; part < 3; ++part) {
      piece& p = m_pieces[(z + 1) * row + y + 1][part];
      p = {0, kind::unread};
      if (!read[part]) continue;
      const int x = part == 0 ? -1 : part == 1 ? 0 : octant_edge;
      const cell_source c =
          cell_source::of({first.x + x, first.y + y, first.z + z}, link.coarse, sources);
      p = {c.offset(), c.keeps_momentum() ? kind::stored : kind::transformed};
    }
  }

  piece m_pieces[plane][3] = {};
};

/// The cells of an octant, V at a time, as `child_fields` needs them.
template <class V>
class prolonged_octant {
 public:
  static constexpr int width = ops<V>::width;
  /// Vectors go through rows with both neighbours, and end with the last cell of a plane: a third
  /// of their lanes is not used, but all lie one after the other.
  static constexpr int used = (octant_edge - 1) * octant_rows::row + octant_edge;

  constexpr prolonged_octant(const double* from, double* to, const subgrid_frame* frames,
                             const ghost_source* sources, const level_link& link, double weight)
      : m_from(from), m_to(to), m_frames(frames), m_sources(sources), m_link(link),
        m_weight(weight), m_rows(link, sources) {}

  /// Computes all fields of all needed cells, or egas alone.
  constexpr void compute(double theta, bool energy_only) {
    if (energy_only) return compute(theta, child_group::energy);
    for (int g = 0; g < static_cast<int>(child_group::count); ++g) {
      compute(theta, static_cast<child_group>(g));
    }
  }
  constexpr void compute(double theta, child_group group) {
    const child_fields<V, prolonged_octant> children{*this, theta, m_frames[m_link.coarse].half_dx};
    load(group);
    for (m_z = 0; m_z < octant_edge; ++m_z) {
      for (m_k = 0; m_k < used; m_k += width) {
        if (select_cells()) children.compute(group);
      }
    }
  }

  constexpr void stencil(int f, V (&u)[stencil_count]) const {
    const double* in = m_blocks[f - m_first] + m_z * octant_rows::plane + m_k;
    unrolled<0, stencil_count>([&](auto k) __attribute__((always_inline)) {
      constexpr int offset = k % 3 + k / 3 % 3 * octant_rows::row + k / 9 * octant_rows::plane;
      u[k] = ops<V>::load(in + offset);
    });
  }
  constexpr V coarse(int f) const {
    const double* in = m_from + index_type{m_link.coarse} * compact.block + f * compact.field;
    return each([&](int cell) {
      const triple c = coarse_cell(m_link.octant, cell);
      return in[c.x + c.y * compact.row + c.z * compact.plane];
    });
  }
  constexpr V centre(int axis) const {
    return each([&](int cell) {
      return cell_centre(m_frames[m_link.coarse], axis, coarse_cell(m_link.octant, cell)[axis]);
    });
  }
  constexpr void put(int child, int f, const V& value) const {
    alignas(64) double v[width];
    ops<V>::store(v, value);
    double* out = m_to + index_type{m_link.fine} * compact.block + f * compact.field + (child & 1) +
                  (child >> 1 & 1) * compact.row + (child >> 2) * compact.plane;
    for (int lane = 0; lane < width; ++lane) {
      if (m_cells[lane] != none) out[m_first_children[lane]] = v[lane];
    }
  }

 private:
  static constexpr int none = -1;

  /// Finds the cells of the vector at m_k, m_z. Returns whether any is needed.
  constexpr bool select_cells() {
    bool any = false;
    for (int lane = 0; lane < width; ++lane) {
      const int x = (m_k + lane) % octant_rows::row, y = (m_k + lane) / octant_rows::row;
      const int cell = x + octant_edge * (y + octant_edge * m_z);
      const bool wanted = x < octant_edge && y < octant_edge && m_link.cells.contains(cell);
      m_cells[lane] = wanted ? cell : none;
      m_first_children[lane] = 2 * (x + y * compact.row + m_z * compact.plane);
      any = any || wanted;
    }
    return any;
  }
  template <class F>
  constexpr V each(F value) const {
    alignas(64) double v[width] = {};
    for (int lane = 0; lane < width; ++lane) {
      if (m_cells[lane] != none) v[lane] = value(m_cells[lane]);
    }
    return ops<V>::load(v);
  }
  /// Copies the fields of a group into the blocks.
  constexpr void load(child_group group) {
    const bool momenta = group == child_group::momenta, masses = group == child_group::masses;
    m_first = momenta ? field::sx : masses ? field::species : field::egas;
    const int fields = masses ? species_count : group == child_group::energy ? 1 : 3;
    const triple first = coarse_cell(m_link.octant, 0);
    for (int f = m_first; f < m_first + fields; ++f) {
      m_rows.copy(m_from, f, m_blocks[f - m_first], [&](triple at) {
        double u[field_count] = {};
        gather_cell(m_from, m_frames, m_sources, m_link.coarse,
                    {first.x + at.x - 1, first.y + at.y - 1, first.z + at.z - 1}, u, m_weight,
                    group != child_group::energy);
        return u[f];
      });
    }
  }

  const double* m_from;
  double* m_to;
  const subgrid_frame* m_frames;
  const ghost_source* m_sources;
  level_link m_link;
  double m_weight;
  octant_rows m_rows;
  int m_first = 0;                   // field of the first block
  int m_k = 0, m_z = 0;              // the first lane: its place in a plane of rows, and the plane
  int m_cells[width] = {};           // of the octant, or none
  int m_first_children[width] = {};  // positions of their children 0 in the fine sub-grid
  /// The last vector of a plane may read beyond it.
  double m_blocks[species_count][octant_rows::cells + 2 * width] = {};
};

}  // namespace stars
