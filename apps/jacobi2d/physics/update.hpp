// SPDX-License-Identifier: Apache-2.0
/// \file
/// One Jacobi step of a strip: as a function of a group of threads, and as a kernel.
#pragma once

#include <algorithm>

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

/// Into how many bands rows are cut for threads that each take a piece of a row: enough to
/// give all some work, or so many that they end together. A band reads two rows more.
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

/// Cells that lie side by side, read and written as one.
template <int Width>
struct [[gnu::may_alias]] alignas(4 * Width) piece {
  float of[Width];
};

template <int Width>
constexpr piece<Width> load_piece(const float* from) {
  return *reinterpret_cast<const piece<Width>*>(from);
}
/// What cells become, by those around them.
template <int Width>
constexpr piece<Width> means(const piece<Width>& at, float west, float east,
                             const piece<Width>& south, const piece<Width>& north) {
  piece<Width> made;
  for (int i = 0; i < Width; ++i)
    made.of[i] = mean_of(i > 0 ? at.of[i - 1] : west, i + 1 < Width ? at.of[i + 1] : east,
                         south.of[i], north.of[i]);
  return made;
}
/// Reads `Rows` rows ahead, which lie in the array, and writes as many from `to` on. `behind` and
/// `centre` go ahead with it. All are read before one is written: compilers move no load before a
/// store that might go to the same memory.
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
    piece<Width> made;  // `means` written out: called, it takes kernels 7 % more instructions
    for (int i = 0; i < Width; ++i)
      made.of[i] = mean_of(i > 0 ? at.of[i - 1] : west[k], i + 1 < Width ? at.of[i + 1] : east[k],
                           south.of[i], north.of[i]);
    *reinterpret_cast<piece<Width>*>(to + k * pitch) = made;
  }
  behind = rows[Rows];
  centre = rows[Rows + 1];
}

/// Cells x … x + Width - 1 of rows begin ≤ y < end: each row is read once, and `Batch` of them at a
/// time.
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

/// Of four columns from x on those before `end_x`.
template <int Batch>
constexpr void four_columns(const step& s, int x, int end_x, int begin, int end) {
  if (x + 4 <= end_x) return columns<Batch, 4>(s, x, begin, end);
  for (; x < end_x; ++x) columns<1, 1>(s, x, begin, end);
}

constexpr void cell(const step& s, int x, int y) {
  const float* const row = s.row(y) + x;
  s.to[s.shape.at(x, y)] = mean_of(row[-1], row[1], s.row(y - 1)[x], s.row(y + 1)[x]);
}

/// Asks for memory that the calling thread reads soon, of groups who can.
template <class Group>
constexpr void prefetch(const float* from) {
  if constexpr (requires { Group::prefetch(from); }) Group::prefetch(from);
}
/// Stores cells that somebody reads so late that caches should keep them, of groups who can.
template <class Group>
constexpr void store_kept(float* to, const piece<4>& made) {
  auto* const at = reinterpret_cast<piece<4>*>(to);
  if constexpr (requires { Group::store_kept(at, made); })
    Group::store_kept(at, made);
  else
    *at = made;
}

/// Pieces of a thread lie so many apart where those of the threads of a warp lie side by side.
inline constexpr int lanes = 32;

/// Four columns from x on and `Count - 1` times four more, of rows begin ≤ y < end: row after row,
/// up or down, each read once. Caches keep what is written in the last `Kept` rows.
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
/// As many of `Count` pieces, the first one number `quad`, as there are among `quads`.
template <class Group, int Count, bool Up, int Kept>
constexpr void sweep_up_to(const step& s, int quad, int quads, int begin, int end) {
  if (quad + (Count - 1) * lanes < quads)
    sweep_pieces<Group, Count, Up, Kept>(s, 4 * quad, begin, end);
  else if constexpr (Count > 1)
    sweep_up_to<Group, Count - 1, Up, Kept>(s, quad, quads, begin, end);
}
/// All but the last columns, which are no piece, by threads of `Count` pieces. Where these are few,
/// or some would have to go through all rows behind the others, rows are cut into bands.
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

/// Cells x … x + 3 of a row, and as many at each of the next `Count - 1` places, `stride` apart.
/// All are read before one is written.
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
/// The first 4 × `quads` cells of a row, `Most` pieces of four by a thread at once.
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

/// Nothing but loads, sums and stores: compilers make vectors of it. By itself, so that it has all
/// registers.
[[gnu::noinline]] constexpr void line(float* __restrict to, const float* row, const float* south,
                                      const float* north, int cells) {
  for (int x = 0; x < cells; ++x) to[x] = mean_of(row[x - 1], row[x + 1], south[x], north[x]);
}
/// Cells x ≤ … < end_x of a row.
constexpr void line_of(const step& s, int x, int end_x, int y) {
  line(s.to + s.shape.at(x, y), s.row(y) + x, s.row(y - 1) + x, s.row(y + 1) + x, end_x - x);
}

}  // namespace detail

/// Does the cells of a tile, whose x is a multiple of 4, spread over the group's threads; not a
/// `sync`. Groups may do different tiles of a step side by side, in any order. `Batch`: rows that
/// a thread reads at a time.
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

/// Does rows begin ≤ y < end one after the other, upwards or downwards, each by all threads; not a
/// `sync`. For a group that stays with a strip and turns where it ends: what it wrote in the last
/// `Kept` rows, which it reads first then, caches keep till then.
template <int Kept, bool Up, class Group>
constexpr void sweep_rows(Group& g, const step& s, int begin, int end) {
  const int width = s.shape.n.x, rows = end - begin;
  if (rows <= 0) return;
  if constexpr (apps::single_thread<Group>) {
    for (int k = 0; k < rows; ++k) detail::line_of(s, 0, width, Up ? begin + k : end - 1 - k);
  } else {
    // As many pieces of a row on their way as a thread has registers for, if there are so many.
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

/// Does a row, which caches keep, likewise. With nothing before and behind it a thread has as many
/// pieces of it on their way as it gets.
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
    update_tile<2>(g, what, cut(what.shape.n, i));
  }
};

}  // namespace jacobi2d
