// SPDX-License-Identifier: Apache-2.0
/// \file
/// Shapes of the arrays that kernels share, and the mapping from indices to cells. Numbers of cells
/// in comments are those of sub-grids with an edge of 8.
#pragma once

#include <cstddef>

#include "mesh/subgrid.hpp"

namespace stars {

using index_type = std::ptrdiff_t;

constexpr int padded(int n, int width) { return (n + width - 1) / width * width; }

/// Distances in an array of sub-grids, and the offset of the interior cell (0, 0, 0).
struct layout {
  int row, plane, field, block, origin;
};

inline constexpr int ghosted_edge = edge + 2 * ghost_width;  // 14
inline constexpr int ghosted_cells = ghosted_edge * ghosted_edge * ghosted_edge;

/// [sub-grid][15][8][8][8]: a snapshot's data.
inline constexpr layout compact{edge, edge* edge, cells_per_subgrid, field_count* cells_per_subgrid,
                                0};
/// [sub-grid][15][14][14][14]: with ghost cells.
inline constexpr layout ghosted{ghosted_edge, ghosted_edge* ghosted_edge, ghosted_cells,
                                field_count* ghosted_cells,
                                ghost_width*(1 + ghosted_edge + ghosted_edge * ghosted_edge)};

/// Returns the distance of neighbouring cells along an axis.
constexpr int stride_of(const layout& in, int axis) {
  return axis == 0 ? 1 : axis == 1 ? in.row : in.plane;
}
/// Return the offset of cell (x, y, z) of field f of the n-th sub-grid; interior cells are 0 … 7.
/// Not members, since some compilers do not allow calls of a constant's members everywhere.
constexpr index_type compact_at(int n, int f, int x, int y, int z) {
  return index_type{n} * compact.block + index_type{f} * compact.field + z * compact.plane +
         y * compact.row + x;
}
constexpr index_type ghosted_at(int n, int f, int x, int y, int z) {
  return index_type{n} * ghosted.block + index_type{f} * ghosted.field + z * ghosted.plane +
         y * ghosted.row + x + ghosted.origin;
}

/// The planes of a sub-grid that a group of threads computes, as many as its scratch memory holds.
inline constexpr int group_planes = 16 / edge;

inline constexpr int pair_count = 13;  ///< opposite directions: pair p is directions p and 25-p

// The ring of cells that reconstruction covers: x, y, z in -1 … 8.
inline constexpr int ring_edge = edge + 2;
inline constexpr int ring_rows = ring_edge * ring_edge;
inline constexpr int ring_cells = ring_edge * ring_rows;

// States at the 26 points of a cell: the conserved fields with velocity in place of momentum, then
// pressure and sound speed. [sub-grid][26][17][box], where the box of a direction contains the
// cells whose state in this direction some face needs: on each axis 8 cells, or 9 if the direction
// has a component there (-1 … 7 for +1, 0 … 8 for -1). A box is padded to 736 values.
namespace point {
enum : int { rho, egas, tau, pot, vx, vy, vz, lx, ly, lz, species, pressure = 15, sound, count };
}
inline constexpr int box_size = padded((edge + 1) * (edge + 1) * (edge + 1), 8);
inline constexpr int direction_stride = point::count * box_size;
inline constexpr int point_block = direction_count * direction_stride;

// Face fluxes: [sub-grid][axis][15][576]. The array of an axis has 9 entries along this axis and 8
// along the other two, x fastest. Signal speeds: [sub-grid][axis][576].
inline constexpr int face_count = (edge + 1) * edge * edge;
inline constexpr int flux_block = 3 * field_count * face_count;
inline constexpr int speed_block = 3 * face_count;

inline constexpr int pressure_block = ghosted_cells;        // [sub-grid][14][14][14]
inline constexpr int jump_block = pair_count * ring_cells;  // [sub-grid][13][10][10][10]

/// A row (or the part of it that a vector of W lanes covers) of the ring of cells, for one pair of
/// directions: the needed cells, if any.
struct ring_window {
  int x = 0, y = 0, z = 0;  ///< first cell
  bool needed = false;

  /// `flat` counts positions in rows padded to `pitch`. Rows of which only the eight interior
  /// columns are needed start at column 0, the remaining rows at column -1.
  static constexpr ring_window of(int flat, int pitch, triple d, int width) {
    const int row = flat / pitch;
    return of_row(flat % pitch, row % ring_edge - 1, row / ring_edge - 1, d, width);
  }
  static constexpr ring_window of_row(int col, int y, int z, triple d, int width) {
    ring_window w{0, y, z, true};
    const bool y_ghost = w.y < 0 || w.y >= edge, z_ghost = w.z < 0 || w.z >= edge;
    if (y_ghost || z_ghost || d.x == 0) {
      w.x = col;
      w.needed =
          col + width <= edge && !(y_ghost && (z_ghost || d.y == 0)) && !(z_ghost && d.z == 0);
    } else {  // the last vector of a row overlaps the one before it
      w.x = (col + width <= ring_edge ? col : ring_edge - width) - 1;
      w.needed = col < ring_edge;
    }
    return w;
  }
};

}  // namespace stars
