// SPDX-License-Identifier: Apache-2.0
/// \file
/// Requirements of kernels on their thread group, and the division of a block into tiles for
/// groups.
#pragma once

#include <algorithm>

#include "common/physics/group.hpp"
#include "layout.hpp"

namespace jacobi3d {

using apps::group_threads;
using apps::single_thread;

/// Columns of cells, adjacent in y, that a thread of a large group computes.
inline constexpr int thread_columns = 4;

/// The division of a box of cells into tiles, one for each group. The threads of a large group
/// share a tile: each computes `thread_columns` columns upwards in z, so that a plane is read once
/// and the neighbours in x and y are in the group's cache. A group of one thread computes its tile
/// in rows. The box may be empty.
struct tiling {
  int width, height, depth;  ///< cells of a tile in x, y, z
  /// Tiles in y that, with all tiles in x, are computed in all layers of z before the next tiles in
  /// y. The planes between two layers are then still in the cache.
  int bundle;

  /// Returns tiles for groups of many threads.
  static constexpr tiling for_many(triple n) {
    n = not_empty(n);
    const bool narrow = rounded_up(n.x, 32) < rounded_up(n.x, 64);
    tiling t{narrow ? 32 : 64, 0, 0, 0};
    t.height = group_threads * thread_columns / t.width;
    const int in_x = pieces(n.x, t.width), in_y = pieces(n.y, t.height);
    t.bundle = pieces(in_y, pieces(in_x * in_y, bundled_tiles));
    // A tile reads two planes more than it writes: tiles are as deep as leaves all groups work to
    // the end.
    t.depth = static_cast<int>(
        std::clamp<offset>(offset{in_x} * in_y * n.z / (3 * groups_at_once), 4, 6));
    return t;
  }
  /// Returns tiles for groups of one thread: three planes of a tile stay in its cache.
  static constexpr tiling for_one(triple n) {
    n = not_empty(n);
    const int height = std::clamp(cached_cells / n.x, 4, std::max(n.y, 4));
    const offset cells_of_plane = offset{n.x} * std::min(height, n.y);
    const auto depth = static_cast<int>(std::clamp<offset>(tile_cells / cells_of_plane, 4, 128));
    return {n.x, height, depth, 1};
  }

  /// Returns the groups for a box of `n` cells, one for each tile; some groups may have no cells.
  constexpr triple tiles(triple n) const {
    return {pieces(n.x, width), bundle, pieces(n.z, depth) * pieces(pieces(n.y, height), bundle)};
  }
  /// Returns the cells of group `i` in `all`.
  template <class Index>
  constexpr box tile(const box& all, Index i) const {
    const int layers = pieces(all.end.z - all.begin.z, depth);
    const int y = i.z / layers * bundle + i.y, z = i.z % layers;
    const triple b{all.begin.x + i.x * width, all.begin.y + y * height, all.begin.z + z * depth};
    return {b,
            {std::min(b.x + width, all.end.x), std::min(b.y + height, all.end.y),
             std::min(b.z + depth, all.end.z)}};
  }

  static constexpr int pieces(int cells, int of) { return apps::pieces(cells, of); }

 private:
  static constexpr triple not_empty(triple n) {
    return {std::max(1, n.x), std::max(1, n.y), std::max(1, n.z)};
  }
  static constexpr offset groups_at_once = 528;   // four on each of 132 multiprocessors
  static constexpr int bundled_tiles = 288;       // of 1024 cells of a plane: 2.25 MiB
  static constexpr int cached_cells = 16 * 1024;  // in a plane of a tile: 128 KiB
  static constexpr int tile_cells = 128 * 1024;   // far more work than the cost of a task
};

}  // namespace jacobi3d
