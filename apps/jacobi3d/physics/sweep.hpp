// SPDX-License-Identifier: Apache-2.0
/// \file
/// One Jacobi step of a block's cells: along columns for many threads, along rows for one thread.
#pragma once

#include "group.hpp"

namespace jacobi3d {

/// Returns the mean of a cell and its six neighbours (thesis, eq. 3.1). All solvers add in this
/// order, so that a grid has one correct result, bit by bit.
constexpr double mean_of(double centre, double west, double east, double south, double north,
                         double bottom, double top) {
  return ((((((centre + west) + east) + south) + north) + bottom) + top) * (1.0 / 7.0);
}

/// A step of a block: reads one array, ghosts included, and writes the next values to a second
/// array, without ghosts.
struct sweep {
  block_layout shape;
  const double* from;
  double* to;

  /// Computes the cells of a tile in `thread_columns` columns from (x, y) on in y; no cells outside
  /// the tile. Calls `each_plane(k)` in the k-th plane, even if the thread has no cells there.
  // One path for all threads and no other code between the loads: the code needs few registers, and
  // all loads are in flight together.
  template <class EachPlane>
  constexpr void columns(int x, int y, const box& tile, EachPlane each_plane) const {
    // A copy, not a reference: the constant is a host variable, and nvcc 13 compiles a reference to
    // it to an empty kernel.
    const int rows = x < tile.end.x ? std::clamp(tile.end.y - y, 0, int{thread_columns}) : 0;
    const int planes = tile.end.z - tile.begin.z;
    const double* cell = from + shape.at(x, y, tile.begin.z);
    double* result = to + shape.at(x, y, tile.begin.z);
    const auto load = [&](offset distance, cells_of_plane& values) {
      for (int r = 0; r < thread_columns; ++r)
        values.of[r] = r < rows ? cell[distance + r * shape.pitch] : 0.0;
    };
    cells_of_plane below, centre, above, coming, west, east, next;
    load(-shape.plane, below);
    load(0, centre);
    load(shape.plane, above);
    for (int z = 0; z < planes; ++z) {
      // Loaded one plane before its use: a load takes about as long as a plane.
      load(z + 1 < planes ? 2 * shape.plane : shape.plane, coming);
      load(-1, west);
      load(1, east);
      const double south = rows > 0 ? cell[-shape.pitch] : 0.0;
      const double north = rows > 0 ? cell[rows * shape.pitch] : 0.0;
      each_plane(z);
      for (int r = 0; r < thread_columns; ++r) {
        const double before = r > 0 ? centre.of[r - 1] : south;
        const double behind = r + 1 < thread_columns && r + 1 < rows ? centre.of[r + 1] : north;
        next.of[r] =
            mean_of(centre.of[r], west.of[r], east.of[r], before, behind, below.of[r], above.of[r]);
      }
      for (int r = 0; r < thread_columns; ++r)
        if (r < rows) result[r * shape.pitch] = next.of[r];
      below = centre;
      centre = above;
      above = coming;
      cell += shape.plane;
      result += shape.plane;
    }
  }

  /// Computes the cells of a box, row by row.
  constexpr void rows(const box& cells) const {
    const triple n = cells.extent();
    for (int z = cells.begin.z; z < cells.end.z; ++z) {
      const offset at = shape.at(cells.begin.x, cells.begin.y, z);
      lines(to + at, from + at, shape.pitch, shape.plane, n.x, n.y);
    }
  }

 private:
  /// The values of a thread in a plane; the first `rows` ≤ thread_columns of them are used.
  struct cells_of_plane {
    double of[thread_columns];
  };

  /// Loads, sums and stores only, so that compilers vectorise the loop. Not inlined, and with
  /// distances from one pointer: inside a larger function, or with five pointers, too few registers
  /// are left.
  [[gnu::noinline]] static constexpr void lines(double* __restrict result, const double* c,
                                                offset pitch, offset plane, int cells, int rows) {
    constexpr int cache_line = 8;
    for (int y = 0; y < rows; ++y, result += pitch, c += pitch) {
      // Only the plane above comes from memory. Hardware prefetching stops at the end of a page,
      // which is a row or two; hence the next row of that plane is prefetched here.
      for (int x = 0; x < cells; x += cache_line) __builtin_prefetch(c + plane + pitch + x);
      for (int x = 0; x < cells; ++x)
        result[x] = mean_of(c[x], c[x - 1], c[x + 1], c[x - pitch], c[x + pitch], c[x - plane],
                            c[x + plane]);
    }
  }
};

}  // namespace jacobi3d
