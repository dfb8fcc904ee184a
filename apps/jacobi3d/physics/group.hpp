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

/// How a box of cells is cut into tiles, one for each group. Many threads share a tile: each does
/// `rows` columns beside each other in y, upwards in z, so that a plane is read once and what
/// neighbours in x and y need is in the cache of the group. One thread does its tile in rows. An
/// empty box may be asked about, too.
struct tiling {
  int width, height, depth;  ///< cells of a tile in x, y, z
  int rows = 1;              ///< columns of one thread: 1 or 4
  bool stacked = false;      ///< tiles follow each other in z before y: planes stay in the cache

  /// For groups of many threads, of which about `groups` run at the same time.
  static constexpr tiling for_many(triple n, int groups = 512) {
    n = not_empty(n);
    const bool large = volume(n) > offset{1} << 21;
    tiling t = large ? tiling{64, 16, 1, 4} : tiling{32, 8, 1, 1};
    const int columns = pieces(n.x, t.width) * pieces(n.y, t.height);
    // A tile reads two planes more than it writes: as deep as leaves enough tiles.
    const int least = pieces(n.z, deepest), most = pieces(n.z, shallowest);
    t.depth = pieces(n.z, std::clamp(groups / columns, least, most));
    return t;
  }
  /// For groups of one thread: three planes of a tile stay in its cache.
  static constexpr tiling for_one(triple n) {
    n = not_empty(n);
    const int height = std::clamp(cached_cells / n.x, 4, std::max(n.y, 4));
    const offset cells_of_plane = offset{n.x} * std::min(height, n.y);
    const auto depth =
        static_cast<int>(std::clamp<offset>(tile_cells / cells_of_plane, 4, deepest));
    return {n.x, height, depth, 1, true};
  }

  /// Groups for a box of `n` cells, one for each tile.
  constexpr triple tiles(triple n) const {
    const int y = pieces(n.y, height), z = pieces(n.z, depth);
    return {pieces(n.x, width), stacked ? z : y, stacked ? y : z};
  }
  /// The cells of group `i` in `all`.
  template <class Index>
  constexpr box tile(const box& all, Index i) const {
    const triple b{all.begin.x + i.x * width, all.begin.y + (stacked ? i.z : i.y) * height,
                   all.begin.z + (stacked ? i.y : i.z) * depth};
    return {b,
            {std::min(b.x + width, all.end.x), std::min(b.y + height, all.end.y),
             std::min(b.z + depth, all.end.z)}};
  }

  static constexpr int pieces(int cells, int of) { return apps::pieces(cells, of); }

 private:
  static constexpr triple not_empty(triple n) {
    return {std::max(1, n.x), std::max(1, n.y), std::max(1, n.z)};
  }
  static constexpr int deepest = 128, shallowest = 4;
  static constexpr int cached_cells = 16 * 1024;  // of a plane of a tile: 128 KiB
  static constexpr int tile_cells = 128 * 1024;   // worth a task by far
};

}  // namespace jacobi3d
