// SPDX-License-Identifier: Apache-2.0
/// \file
/// One Jacobi step of a strip: as a function of a group of threads, and as a kernel.
#pragma once

#include "common/physics/group.hpp"
#include "layout.hpp"

namespace jacobi2d {

/// The mean of a cell's four neighbours, added in this order everywhere: one grid has one answer,
/// bit by bit.
constexpr float mean_of(float west, float east, float south, float north) {
  return 0.25F * (((west + east) + south) + north);
}

/// What a step of a strip reads and writes: two arrays of one shape, and the rows beside it, which
/// are a neighbour's own or ghosts. Cells 0 lie on 16-byte boundaries. Ghosts are not written.
struct step {
  strip_layout shape;
  const float* from;
  float* to;
  rows_beside beside;

  /// Cell 0 of a row, -1 ≤ y ≤ n.y.
  constexpr const float* row(int y) const {
    if (y < 0) return beside[side::south];
    return y < shape.n.y ? from + shape.at(0, y) : beside[side::north];
  }
};

namespace detail {

/// Cells that lie side by side, read and written as one.
template <int Width>
struct [[gnu::may_alias]] alignas(4 * Width) piece {
  float of[Width];
};

/// Cells x … x + Width - 1 of rows begin ≤ y < end, upwards: each row is read once.
template <int Width>
constexpr void columns(const step& s, int x, int begin, int end) {
  using cells = piece<Width>;
  const auto load = [&s, x](int y) { return *reinterpret_cast<const cells*>(s.row(y) + x); };
  cells below = load(begin - 1), centre = load(begin), above = load(begin + 1);
  for (int y = begin; y < end; ++y) {
    // A row early: compilers move no load before a store that might go to the same memory.
    const cells ahead = load(std::min(y + 2, end));
    const offset here = s.shape.at(x, y);
    const float west = s.from[here - 1], east = s.from[here + Width];
    for (int k = 0; k < Width; ++k)
      below.of[k] = mean_of(k > 0 ? centre.of[k - 1] : west,
                            k + 1 < Width ? centre.of[k + 1] : east, below.of[k], above.of[k]);
    *reinterpret_cast<cells*>(s.to + here) = below;
    below = centre;
    centre = above;
    above = ahead;
  }
}

/// Nothing but loads, sums and stores: compilers make vectors of it. By itself, so that it has all
/// registers.
[[gnu::noinline]] constexpr void line(float* __restrict to, const float* row, const float* south,
                                      const float* north, int cells) {
  for (int x = 0; x < cells; ++x) to[x] = mean_of(row[x - 1], row[x + 1], south[x], north[x]);
}

}  // namespace detail

/// Does the cells of a tile, whose x is a multiple of 4, spread over the group's threads; not a
/// `sync`. Groups may do different tiles of a step side by side, in any order.
template <class Group>
constexpr void update_tile(Group& g, const step& s, const tile& t) {
  if constexpr (apps::single_thread<Group>) {
    for (int y = t.y; y < t.end_y; ++y)
      detail::line(s.to + s.shape.at(t.x, y), s.row(y) + t.x, s.row(y - 1) + t.x,
                   s.row(y + 1) + t.x, t.end_x - t.x);
  } else {
    constexpr int width = 4;  // cells side by side of a thread: 16 bytes
    const int across = apps::pieces(t.end_x - t.x, width), rows = t.end_y - t.y;
    const int bands = std::max(1, std::min(g.size() / across, rows));
    const int height = apps::pieces(rows, bands);
    g.for_each(across * bands, [&](int i) {
      int x = t.x + i % across * width;
      const int begin = t.y + i / across * height, end = std::min(begin + height, t.end_y);
      if (begin >= end) return;
      if (x + width <= t.end_x) return detail::columns<width>(s, x, begin, end);
      for (; x < t.end_x; ++x) detail::columns<1>(s, x, begin, end);
    });
  }
}

/// Does rows begin ≤ y < end, likewise.
template <class Group>
constexpr void update_rows(Group& g, const step& s, int begin, int end) {
  update_tile(g, s, {0, s.shape.n.x, begin, end});
}

/// How a strip is cut into tiles, one for each group.
struct tiling {
  int width, height;  ///< cells of a tile in x (a multiple of 4) and y

  /// For groups of many threads, of which about `groups` shall run at the same time.
  static constexpr tiling for_many(extent n, int groups = 2048) {
    const int width = std::min(4 * apps::group_threads, 4 * apps::pieces(n.x, 4));
    const int bands = std::max(1, 4 * apps::group_threads / width);
    // A thread reads two rows more than it writes: as many as leave enough tiles.
    const offset tiles = offset{apps::pieces(n.x, width)} * apps::pieces(n.y, bands);
    return {width, bands * static_cast<int>(std::clamp<offset>(tiles / groups, 4, 32))};
  }
  /// For groups of one thread: three rows of a tile stay in its cache.
  static constexpr tiling for_one(extent n) {
    const int width = std::min(cached_cells, 4 * apps::pieces(n.x, 4));
    return {width, std::max(1, tile_cells / width)};
  }

  constexpr apps::triple tiles(extent n) const {
    return {apps::pieces(n.x, width), apps::pieces(n.y, height), 1};
  }
  /// The cells of group `i`.
  template <class Index>
  constexpr tile operator()(extent n, Index i) const {
    return {i.x * width, std::min((i.x + 1) * width, n.x), i.y * height,
            std::min((i.y + 1) * height, n.y)};
  }

 private:
  static constexpr int cached_cells = 32 * 1024;  // of a row of a tile: 128 KiB
  static constexpr int tile_cells = 128 * 1024;   // worth a task by far
};

/// A step of a whole strip. Groups: `range()`.
struct update {
  static constexpr const char* name = "update";
  static constexpr int group_size = apps::group_threads;
  static constexpr int least_blocks = 4;  // at most 64 registers for a thread

  step what;
  tiling cut;

  constexpr apps::triple range() const { return cut.tiles(what.shape.n); }
  template <class Group, class Index>
  constexpr void operator()(Group& g, Index i) const {
    update_tile(g, what, cut(what.shape.n, i));
  }
};

}  // namespace jacobi2d
