// SPDX-License-Identifier: Apache-2.0
/// \file
/// What kernels ask of the group of threads that runs them, and how a block is cut for them.
#pragma once

#include <algorithm>

#include "common/physics/group.hpp"
#include "layout.hpp"

namespace jacobi3d {

using apps::group_threads;
using apps::single_thread;

/// Columns of cells, beside each other in y, that one of many threads does.
inline constexpr int thread_columns = 4;

/// How a box of cells is cut into tiles, one for each group. Many threads share a tile: each does
/// `thread_columns` columns upwards in z, so that a plane is read once and what neighbours in x and
/// y need is in the cache of the group. One thread does its tile in rows. An empty box may be asked
/// about, too.
struct tiling {
  int width, height, depth;  ///< cells of a tile in x, y, z
  /// Tiles in y that are done upwards, with all in x, before those beside them: the planes where
  /// tiles meet are still in the cache.
  int bundle;

  /// For groups of many threads.
  static constexpr tiling for_many(triple n) {
    n = not_empty(n);
    const bool narrow = rounded_up(n.x, 32) < rounded_up(n.x, 64);
    tiling t{narrow ? 32 : 64, 0, 0, 0};
    t.height = group_threads * thread_columns / t.width;
    const int in_x = pieces(n.x, t.width), in_y = pieces(n.y, t.height);
    t.bundle = pieces(in_y, pieces(in_x * in_y, bundled_tiles));
    // A tile reads two planes more than it writes: as deep as leaves work for all to the end.
    t.depth = static_cast<int>(
        std::clamp<offset>(offset{in_x} * in_y * n.z / (3 * groups_at_once), 4, 6));
    return t;
  }
  /// For groups of one thread: three planes of a tile stay in its cache.
  static constexpr tiling for_one(triple n) {
    n = not_empty(n);
    const int height = std::clamp(cached_cells / n.x, 4, std::max(n.y, 4));
    const offset cells_of_plane = offset{n.x} * std::min(height, n.y);
    const auto depth = static_cast<int>(std::clamp<offset>(tile_cells / cells_of_plane, 4, 128));
    return {n.x, height, depth, 1};
  }

  /// Groups for a box of `n` cells, one for each tile; some may have none.
  constexpr triple tiles(triple n) const {
    return {pieces(n.x, width), bundle, pieces(n.z, depth) * pieces(pieces(n.y, height), bundle)};
  }
  /// The cells of group `i` in `all`.
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
  static constexpr int cached_cells = 16 * 1024;  // of a plane of a tile: 128 KiB
  static constexpr int tile_cells = 128 * 1024;   // worth a task by far
};

}  // namespace jacobi3d
