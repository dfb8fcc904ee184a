// SPDX-License-Identifier: Apache-2.0
/// \file
/// One Jacobi step of a strip: as a function of a group of threads, and as a kernel.
#pragma once

#include <algorithm>

#include "common/physics/group.hpp"
#include "layout.hpp"

namespace jacobi2d {

/// Returns the mean of a cell's four neighbours. All solvers add in this order, so that a grid has
/// one correct result, bit by bit.
constexpr float mean_of(float west, float east, float south, float north) {
  return 0.25F * (((west + east) + south) + north);
}

/// Input and output of a step of a strip: two arrays of one shape, and the rows beside the strip,
/// which are a neighbour's own rows or ghosts. Cell 0 of each row is at a 16-byte boundary. Ghosts
/// are not written.
struct step {
  strip_layout shape;
  const float* from;
  float* to;
  rows_beside beside;

  /// Returns the address of cell 0 of a row, -1 ≤ y ≤ n.y.
  constexpr const float* row(int y) const {
    if (y < 0) return beside[side::south];
    return y < shape.n.y ? from + shape.at(0, y) : beside[side::north];
  }
};

/// Returns the number of bands into which rows are cut if each thread takes a piece of a row. There
/// are enough bands to give all threads work, or so many that the threads end together. A band
/// reads two rows more than it writes.
constexpr int bands_for(int threads, int across, int rows) {
  if (threads >= across) return std::max(1, std::min(threads / across, rows));
  int best = 1, least = apps::pieces(across, threads) * (rows + 2);
  for (int bands = 2; bands <= std::min(4, rows); ++bands) {
    const int time = apps::pieces(across * bands, threads) * (apps::pieces(rows, bands) + 2);
    if (time < least) best = bands, least = time;
  }
  return best;
}

namespace detail {

/// `Width` adjacent cells, loaded and stored together.
template <int Width>
struct [[gnu::may_alias]] alignas(4 * Width) piece {
  float of[Width];
};

template <int Width>
constexpr piece<Width> load_piece(const float* from) {
  return *reinterpret_cast<const piece<Width>*>(from);
}
/// Returns the next values of the cells `at` from their neighbours.
template <int Width>
constexpr piece<Width> means(const piece<Width>& at, float west, float east,
                             const piece<Width>& south, const piece<Width>& north) {
  piece<Width> made;
  for (int i = 0; i < Width; ++i)
    made.of[i] = mean_of(i > 0 ? at.of[i - 1] : west, i + 1 < Width ? at.of[i + 1] : east,
                         south.of[i], north.of[i]);
  return made;
}
/// Computes `Rows` rows from `to` on. Reads the rows ahead from the array, except the last one,
/// which is at `ahead_last`; `behind` and `centre` advance by `Rows` rows. All loads come before
/// the first store: compilers move no load before a store that may be to the same memory.
template <int Rows, int Width>
constexpr void some_rows(const float* from, float* to, offset pitch, const float* ahead_last,
                         piece<Width>& behind, piece<Width>& centre) {
  piece<Width> rows[Rows + 2] = {behind, centre};
  float west[Rows], east[Rows];
  for (int k = 0; k < Rows; ++k) {
    rows[k + 2] = load_piece<Width>(k + 1 < Rows ? from + (k + 1) * pitch : ahead_last);
    west[k] = from[k * pitch - 1];
    east[k] = from[k * pitch + Width];
  }
  for (int k = 0; k < Rows; ++k) {
    const piece<Width>&south = rows[k], &at = rows[k + 1], &north = rows[k + 2];
    piece<Width> made;  // `means` inlined by hand: a call makes kernels 7 % longer
    for (int i = 0; i < Width; ++i)
      made.of[i] = mean_of(i > 0 ? at.of[i - 1] : west[k], i + 1 < Width ? at.of[i + 1] : east[k],
                           south.of[i], north.of[i]);
    *reinterpret_cast<piece<Width>*>(to + k * pitch) = made;
  }
  behind = rows[Rows];
  centre = rows[Rows + 1];
}

/// Computes cells x … x + Width - 1 of rows begin ≤ y < end. Each row is read once, `Batch` rows at
/// a time.
template <int Batch, int Width>
constexpr void columns(const step& s, int x, int begin, int end) {
  const offset pitch = s.shape.pitch;
  const float* from = s.from + s.shape.at(x, begin);
  float* to = s.to + s.shape.at(x, begin);
  auto behind = load_piece<Width>(s.row(begin - 1) + x), centre = load_piece<Width>(from);
  int left = end - begin;
  for (; left > Batch; left -= Batch, from += Batch * pitch, to += Batch * pitch)
    some_rows<Batch>(from, to, pitch, from + Batch * pitch, behind, centre);
  for (; left > 0; --left, from += pitch, to += pitch)
    some_rows<1>(from, to, pitch, left > 1 ? from + pitch : s.row(end) + x, behind, centre);
}

/// Computes four columns from x on, or those of them that are before `end_x`.
template <int Batch>
constexpr void four_columns(const step& s, int x, int end_x, int begin, int end) {
  if (x + 4 <= end_x) return columns<Batch, 4>(s, x, begin, end);
  for (; x < end_x; ++x) columns<1, 1>(s, x, begin, end);
}

constexpr void cell(const step& s, int x, int y) {
  const float* const row = s.row(y) + x;
  s.to[s.shape.at(x, y)] = mean_of(row[-1], row[1], s.row(y - 1)[x], s.row(y + 1)[x]);
}

/// Prefetches memory that the calling thread reads soon, if the group supports it.
template <class Group>
constexpr void prefetch(const float* from) {
  if constexpr (requires { Group::prefetch(from); }) Group::prefetch(from);
}
/// Stores cells that are read much later, with a hint to keep them in caches if the group supports
/// it.
template <class Group>
constexpr void store_kept(float* to, const piece<4>& made) {
  auto* const at = reinterpret_cast<piece<4>*>(to);
  if constexpr (requires { Group::store_kept(at, made); })
    Group::store_kept(at, made);
  else
    *at = made;
}

/// Distance between two pieces of a thread, in pieces. The pieces of the threads of a warp are
/// adjacent.
inline constexpr int lanes = 32;

/// Computes the piece of four columns from x on and `Count - 1` further pieces, in rows begin ≤ y <
/// end: row by row, up or down, each row read once. The last `Kept` rows are stored with a hint to
/// keep them in caches.
template <class Group, int Count, bool Up, int Kept>
constexpr void sweep_pieces(const step& s, int x, int begin, int end) {
  constexpr int turn = Up ? 1 : -1, apart = 4 * lanes;
  const int first = Up ? begin : end - 1;
  const offset pitch = turn * s.shape.pitch;
  const float *from = s.from + s.shape.at(x, first), *const before = s.row(first - turn) + x;
  const float* const last = s.row(Up ? end : begin - 1) + x;
  float* to = s.to + s.shape.at(x, first);
  piece<4> behind[Count], centre[Count];
  for (int k = 0; k < Count; ++k) {
    behind[k] = load_piece<4>(before + k * apart);
    centre[k] = load_piece<4>(from + k * apart);
  }
  for (int left = end - begin; left > 0; --left, to += pitch) {
    piece<4> ahead[Count];
    float west[Count], east[Count];
    for (int k = 0; k < Count; ++k) {
      west[k] = from[k * apart - 1];
      east[k] = from[k * apart + 4];
    }
    from = left > 1 ? from + pitch : last;
    for (int k = 0; k < Count; ++k) ahead[k] = load_piece<4>(from + k * apart);
    if (left > 2)
      for (int k = 0; k < Count; ++k) prefetch<Group>(from + pitch + k * apart);
    for (int k = 0; k < Count; ++k) {
      const piece<4>&south = Up ? behind[k] : ahead[k], &north = Up ? ahead[k] : behind[k];
      const piece<4> made = means(centre[k], west[k], east[k], south, north);
      if (left <= Kept)
        store_kept<Group>(to + k * apart, made);
      else
        *reinterpret_cast<piece<4>*>(to + k * apart) = made;
      behind[k] = centre[k];
      centre[k] = ahead[k];
    }
  }
}
/// Computes `Count` pieces from number `quad` on, or those of them that are below `quads`.
template <class Group, int Count, bool Up, int Kept>
constexpr void sweep_up_to(const step& s, int quad, int quads, int begin, int end) {
  if (quad + (Count - 1) * lanes < quads)
    sweep_pieces<Group, Count, Up, Kept>(s, 4 * quad, begin, end);
  else if constexpr (Count > 1)
    sweep_up_to<Group, Count - 1, Up, Kept>(s, quad, quads, begin, end);
}
/// Computes all columns except the last width % 4, with `Count` pieces for each thread. Rows are
/// cut into bands if this needs few threads, or if some threads would otherwise process a second
/// set of pieces after the first.
template <int Count, bool Up, int Kept, class Group>
constexpr void sweep_all(Group& g, const step& s, int begin, int end) {
  const int quads = s.shape.n.x / 4, across = apps::pieces(quads, Count * lanes) * lanes;
  if (quads == 0) return;
  const int bands = bands_for(g.size(), across, end - begin);
  const int height = apps::pieces(end - begin, bands);
  g.for_each(across * bands, [&](int i) {
    const int thread = i % across, quad = thread / lanes * (Count * lanes) + thread % lanes;
    const int first = begin + i / across * height, last = std::min(first + height, end);
    if (first < last) sweep_up_to<Group, Count, Up, Kept>(s, quad, quads, first, last);
  });
}

/// Computes cells x … x + 3 of a row, and four cells at each of the next `Count - 1` positions,
/// `stride` apart. All loads come before the first store.
template <class Group, int Count>
constexpr void pieces_of_row(const step& s, int y, int x, int stride) {
  const float *const row = s.row(y) + x, *const south = s.row(y - 1) + x,
                     *const north = s.row(y + 1) + x;
  float* const to = s.to + s.shape.at(x, y);
  piece<4> at[Count], below[Count], above[Count];
  float west[Count], east[Count];
  for (int k = 0; k < Count; ++k) {
    at[k] = load_piece<4>(row + k * stride);
    below[k] = load_piece<4>(south + k * stride);
    above[k] = load_piece<4>(north + k * stride);
    west[k] = row[k * stride - 1];
    east[k] = row[k * stride + 4];
  }
  for (int k = 0; k < Count; ++k)
    store_kept<Group>(to + k * stride, means(at[k], west[k], east[k], below[k], above[k]));
}
/// Computes the first 4 × `quads` cells of a row, up to `Most` pieces of four for each thread at
/// once.
template <int Most, class Group>
constexpr void quads_of_row(Group& g, const step& s, int y, int quads) {
  const int apart = apps::pieces(quads, Most);
  g.for_each(apart, [&](int i) {
    if (i + (Most - 1) * apart < quads)
      pieces_of_row<Group, Most>(s, y, 4 * i, 4 * apart);
    else if constexpr (Most > 1)
      pieces_of_row<Group, Most - 1>(s, y, 4 * i, 4 * apart);
  });
}

/// Loads, sums and stores only, so that compilers vectorise the loop. Not inlined, so that all
/// registers are available.
[[gnu::noinline]] constexpr void line(float* __restrict to, const float* row, const float* south,
                                      const float* north, int cells) {
  for (int x = 0; x < cells; ++x) to[x] = mean_of(row[x - 1], row[x + 1], south[x], north[x]);
}
/// Computes cells x ≤ … < end_x of a row.
constexpr void line_of(const step& s, int x, int end_x, int y) {
  line(s.to + s.shape.at(x, y), s.row(y) + x, s.row(y - 1) + x, s.row(y + 1) + x, end_x - x);
}

}  // namespace detail

/// Computes the cells of a tile, whose x is a multiple of 4, distributed over the group's threads;
/// without a `sync`. Groups may compute different tiles of a step concurrently, in any order.
/// `Batch` is the number of rows that a thread reads at a time.
template <int Batch, class Group>
constexpr void update_tile(Group& g, const step& s, const tile& t) {
  if constexpr (apps::single_thread<Group>) {
    for (int y = t.y; y < t.end_y; ++y) detail::line_of(s, t.x, t.end_x, y);
  } else {
    const int across = apps::pieces(t.end_x - t.x, 4), rows = t.end_y - t.y;
    if (rows <= 0) return;
    const int bands = bands_for(g.size(), across, rows);
    const int height = apps::pieces(rows, bands);
    g.for_each(across * bands, [&](int i) {
      const int x = t.x + i % across * 4;
      const int begin = t.y + i / across * height, end = std::min(begin + height, t.end_y);
      if (begin < end) detail::four_columns<Batch>(s, x, t.end_x, begin, end);
    });
  }
}

/// Computes rows begin ≤ y < end in order, upwards or downwards, each row by all threads; without a
/// `sync`. For a group that stays with a strip and turns at its ends: the last `Kept` rows, which
/// it reads first after the turn, are stored with a hint to keep them in caches.
template <int Kept, bool Up, class Group>
constexpr void sweep_rows(Group& g, const step& s, int begin, int end) {
  const int width = s.shape.n.x, rows = end - begin;
  if (rows <= 0) return;
  if constexpr (apps::single_thread<Group>) {
    for (int k = 0; k < rows; ++k) detail::line_of(s, 0, width, Up ? begin + k : end - 1 - k);
  } else {
    // If the row is wide enough, as many pieces in flight as a thread has registers for.
    if (width / 4 > g.size())
      detail::sweep_all<3, Up, Kept>(g, s, begin, end);
    else
      detail::sweep_all<1, Up, Kept>(g, s, begin, end);
    g.for_each(width % 4 * rows,
               [&](int i) { detail::cell(s, width - 1 - i / rows, begin + i % rows); });
  }
}
template <int Kept, class Group>
constexpr void sweep_rows(Group& g, const step& s, int begin, int end, bool up) {
  up ? sweep_rows<Kept, true>(g, s, begin, end) : sweep_rows<Kept, false>(g, s, begin, end);
}

/// Computes one row, stored with a hint to keep it in caches; without a `sync`. There are no rows
/// before or after it, so that a thread has all its pieces of the row in flight.
template <class Group>
constexpr void update_row(Group& g, const step& s, int y) {
  const int width = s.shape.n.x;
  if constexpr (apps::single_thread<Group>) {
    detail::line_of(s, 0, width, y);
  } else {
    const int quads = width / 4, of_each = apps::pieces(quads, g.size());
    if (of_each <= 1)
      detail::quads_of_row<1>(g, s, y, quads);
    else if (of_each == 2)
      detail::quads_of_row<2>(g, s, y, quads);
    else
      detail::quads_of_row<3>(g, s, y, quads);
    g.for_each(width % 4, [&](int i) { detail::cell(s, 4 * quads + i, y); });
  }
}

/// The division of a strip into tiles, one for each group.
struct tiling {
  int width, height;  ///< cells of a tile in x (a multiple of 4) and y

  /// Returns tiles for groups of many threads; about `groups` of them should run concurrently.
  static constexpr tiling for_many(extent n, int groups = 2048) {
    const int width = std::min(4 * apps::group_threads, 4 * apps::pieces(n.x, 4));
    const int bands = std::max(1, 4 * apps::group_threads / width);
    // A thread reads two rows more than it writes: tiles are as high as leaves enough of them.
    const offset tiles = offset{apps::pieces(n.x, width)} * apps::pieces(n.y, bands);
    return {width, bands * static_cast<int>(std::clamp<offset>(tiles / groups, 4, 32))};
  }
  /// Returns tiles for groups of one thread: three rows of a tile stay in its cache.
  static constexpr tiling for_one(extent n) {
    const int width = std::min(cached_cells, 4 * apps::pieces(n.x, 4));
    return {width, std::max(1, tile_cells / width)};
  }

  constexpr apps::triple tiles(extent n) const {
    return {apps::pieces(n.x, width), apps::pieces(n.y, height), 1};
  }
  /// Returns the cells of group `i`.
  template <class Index>
  constexpr tile operator()(extent n, Index i) const {
    return {i.x * width, std::min((i.x + 1) * width, n.x), i.y * height,
            std::min((i.y + 1) * height, n.y)};
  }

 private:
  static constexpr int cached_cells = 32 * 1024;  // in a row of a tile: 128 KiB
  static constexpr int tile_cells = 128 * 1024;   // far more work than the cost of a task
};

/// A step of a whole strip, as a kernel. Groups: `range()`.
struct update {
  static constexpr const char* name = "update";
  static constexpr int group_size = apps::group_threads;
  static constexpr int least_blocks = 4;  // at most 64 registers for each thread

  step what;
  tiling cut;

  constexpr apps::triple range() const { return cut.tiles(what.shape.n); }
  template <class Group, class Index>
  constexpr void operator()(Group& g, Index i) const {
    update_tile<2>(g, what, cut(what.shape.n, i));
  }
};

}  // namespace jacobi2d
