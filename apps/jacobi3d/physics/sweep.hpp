// SPDX-License-Identifier: Apache-2.0
/// \file
/// One Jacobi step of a block's cells: along columns, for many threads, and along rows, for one.
#pragma once

#include "layout.hpp"

namespace jacobi3d {

/// The mean of a cell and its six neighbours (thesis, eq. 3.1), added in this order everywhere: one
/// grid has one answer, bit by bit.
constexpr double mean_of(double centre, double west, double east, double south, double north,
                         double bottom, double top) {
  return ((((((centre + west) + east) + south) + north) + bottom) + top) * (1.0 / 7.0);
}

/// Reads a block from one array and writes its next state to another. Values beyond a face come
/// from `in` where there is one, from the ghosts of `from` elsewhere; values beside a face also go
/// to `out` where there is one. Ghosts are not written.
struct sweep {
  block_layout shape;
  const double* from;
  double* to;
  received_faces in;
  sent_faces out;

  /// Cells lower ≤ z < upper of up to `Rows` columns, from (x, y) on in y and before `end_y`.
  template <int Rows>
  constexpr void columns(int x, int y, int end_y, int lower, int upper) const {
    column_group<Rows> here{x, y, std::min(Rows, end_y - y), shape.at(x, y, lower)};
    double below[Rows] = {}, centre[Rows] = {}, above[Rows] = {}, next[Rows] = {};
    load(here, face::bottom, lower == 0, -shape.plane, 0, below);
    load(here, face::bottom, false, 0, 0, centre);
    for (int z = lower; z < upper; ++z) {
      load(here, face::top, z + 1 == shape.n.z, shape.plane, 0, above);
      step(here, z, below, centre, above, next);
      for (int r = 0; r < Rows; ++r) {
        if (r < here.rows) to[here.at + r * shape.pitch] = next[r];
        below[r] = centre[r];
        centre[r] = above[r];
      }
      send(here, z, next);
      here.at += shape.plane;
    }
  }

  /// The cells of a box, row by row.
  constexpr void rows(const box& cells) const {
    const triple n = cells.extent();
    for (int z = cells.begin.z; z < cells.end.z; ++z) {
      if (!has_messages()) {
        const offset at = shape.at(cells.begin.x, cells.begin.y, z);
        lines(to + at, from + at, shape.pitch, shape.plane, n.x, n.y);
        continue;
      }
      for (int y = cells.begin.y; y < cells.end.y; ++y) row(cells.begin.x, cells.end.x, y, z);
    }
  }

 private:
  constexpr bool has_messages() const {
    bool found = false;
    for (int f = 0; f < face_count; ++f)
      found = found || in.of[f] != nullptr || out.of[f] != nullptr;
    return found;
  }

  /// Cells of one thread in a plane: `rows` ≤ Rows of them from (x, y) on in y.
  template <int Rows>
  struct column_group {
    int x, y, rows;
    offset at;  ///< of the first in the array
  };

  /// The neighbours of a thread's cells at a distance in the array; at the edge of a block from the
  /// message for that face, if there is one. Of messages across x, `z` is the plane.
  template <int Rows>
  constexpr void load(const column_group<Rows>& g, face f, bool is_edge, offset distance, int z,
                      double (&values)[Rows]) const {
    if (is_edge && in[f] != nullptr) {
      const bool across = number_of(f) < 2;
      const double* message =
          in[f] + (across ? g.y + offset{z} * shape.n.y : g.x + offset{g.y} * shape.n.x);
      const offset row = across ? 1 : shape.n.x;
      for (int r = 0; r < Rows; ++r)
        if (r < g.rows) values[r] = message[r * row];
    } else {
      const double* own = from + g.at + distance;
      for (int r = 0; r < Rows; ++r)
        if (r < g.rows) values[r] = own[r * shape.pitch];
    }
  }
  /// South of the first or north of the last.
  template <int Rows>
  constexpr double load_one(const column_group<Rows>& g, face f, bool is_edge, offset distance,
                            int z) const {
    if (is_edge && in[f] != nullptr) return in[f][g.x + offset{z} * shape.n.x];
    return from[g.at + distance];
  }

  template <int Rows>
  constexpr void step(const column_group<Rows>& g, int z, const double (&below)[Rows],
                      const double (&centre)[Rows], const double (&above)[Rows],
                      double (&next)[Rows]) const {
    double west[Rows] = {}, east[Rows] = {};
    load(g, face::west, g.x == 0, -1, z, west);
    load(g, face::east, g.x + 1 == shape.n.x, 1, z, east);
    const double south = load_one(g, face::south, g.y == 0, -shape.pitch, z);
    const double north =
        load_one(g, face::north, g.y + g.rows == shape.n.y, g.rows * shape.pitch, z);
    for (int r = 0; r < Rows; ++r) {
      const double before = r > 0 ? centre[r - 1] : south;
      const double behind = r + 1 < Rows && r + 1 < g.rows ? centre[r + 1] : north;
      next[r] = mean_of(centre[r], west[r], east[r], before, behind, below[r], above[r]);
    }
  }
  /// To the faces beside which the cells lie.
  template <int Rows>
  constexpr void send(const column_group<Rows>& g, int z, const double (&next)[Rows]) const {
    const auto put = [&](face f, bool is_edge) {
      if (!is_edge || out[f] == nullptr) return;
      const bool across = number_of(f) < 2;
      double* message =
          out[f] + (across ? g.y + offset{z} * shape.n.y : g.x + offset{g.y} * shape.n.x);
      const offset row = across ? 1 : shape.n.x;
      for (int r = 0; r < Rows; ++r)
        if (r < g.rows) message[r * row] = next[r];
    };
    put(face::west, g.x == 0);
    put(face::east, g.x + 1 == shape.n.x);
    put(face::bottom, z == 0);
    put(face::top, z + 1 == shape.n.z);
    const auto put_one = [&](face f, double value) { out[f][g.x + offset{z} * shape.n.x] = value; };
    if (g.y == 0 && out[face::south] != nullptr) put_one(face::south, next[0]);
    if (g.y + g.rows == shape.n.y && out[face::north] != nullptr)
      for (int r = 0; r < Rows; ++r)
        if (r + 1 == g.rows) put_one(face::north, next[r]);
  }

  /// The rows around cell `first` of a row, and that row itself.
  struct neighbourhood {
    const double *centre, *south, *north, *bottom, *top;
  };
  constexpr void row(int begin, int end, int y, int z) const {
    const double* c = from + shape.at(0, y, z);
    double* result = to + shape.at(0, y, z);
    const neighbourhood near{c, row_beyond(face::south, y == 0, c - shape.pitch, z),
                             row_beyond(face::north, y + 1 == shape.n.y, c + shape.pitch, z),
                             row_beyond(face::bottom, z == 0, c - shape.plane, y),
                             row_beyond(face::top, z + 1 == shape.n.z, c + shape.plane, y)};
    int first = begin, last = end;
    if (begin == 0 && in[face::west] != nullptr) result[first++] = edge_cell(near, 0, y, z);
    if (first < end && end == shape.n.x && in[face::east] != nullptr) {
      --last;
      result[last] = edge_cell(near, last, y, z);
    }
    if (near.south == c - shape.pitch && near.north == c + shape.pitch &&
        near.bottom == c - shape.plane && near.top == c + shape.plane)
      lines(result + first, c + first, shape.pitch, shape.plane, last - first, 1);
    else
      line(result, near, first, last);
    send_row(result, begin, end, y, z);
  }
  constexpr const double* row_beyond(face f, bool beside, const double* own, int number) const {
    return beside && in[f] != nullptr ? in[f] + offset{number} * shape.n.x : own;
  }
  constexpr double edge_cell(const neighbourhood& near, int x, int y, int z) const {
    const offset in_x = y + offset{z} * shape.n.y;
    const bool at_west = x == 0 && in[face::west] != nullptr;
    const bool at_east = x + 1 == shape.n.x && in[face::east] != nullptr;
    return mean_of(near.centre[x], at_west ? in[face::west][in_x] : near.centre[x - 1],
                   at_east ? in[face::east][in_x] : near.centre[x + 1], near.south[x],
                   near.north[x], near.bottom[x], near.top[x]);
  }
  /// Nothing but loads, sums and stores: compilers make vectors of it. By itself, and with
  /// distances from one pointer: inside a larger function, or with five pointers, too few registers
  /// are left.
  [[gnu::noinline]] static constexpr void lines(double* __restrict result, const double* c,
                                                offset pitch, offset plane, int cells, int rows) {
    constexpr int cache_line = 8;
    for (int y = 0; y < rows; ++y, result += pitch, c += pitch) {
      // Only the plane above comes from memory. Processors look ahead as far as the end of a page,
      // which is a row or two: its next row is asked for in time.
      for (int x = 0; x < cells; x += cache_line) __builtin_prefetch(c + plane + pitch + x);
      for (int x = 0; x < cells; ++x)
        result[x] = mean_of(c[x], c[x - 1], c[x + 1], c[x - pitch], c[x + pitch], c[x - plane],
                            c[x + plane]);
    }
  }
  /// A row of which some neighbours are in messages.
  [[gnu::noinline]] static constexpr void line(double* __restrict result, const neighbourhood& near,
                                               int first, int last) {
    const auto [centre, south, north, bottom, top] = near;
    for (int x = first; x < last; ++x)
      result[x] =
          mean_of(centre[x], centre[x - 1], centre[x + 1], south[x], north[x], bottom[x], top[x]);
  }
  constexpr void send_row(const double* result, int begin, int end, int y, int z) const {
    const offset in_x = y + offset{z} * shape.n.y;
    if (begin == 0 && out[face::west] != nullptr) out[face::west][in_x] = result[0];
    if (end == shape.n.x && out[face::east] != nullptr) out[face::east][in_x] = result[end - 1];
    const auto copy = [&](face f, bool beside, int number) {
      if (!beside || out[f] == nullptr) return;
      double* message = out[f] + offset{number} * shape.n.x;
      for (int x = begin; x < end; ++x) message[x] = result[x];
    };
    copy(face::south, y == 0, z);
    copy(face::north, y + 1 == shape.n.y, z);
    copy(face::bottom, z == 0, y);
    copy(face::top, z + 1 == shape.n.z, y);
  }
};

}  // namespace jacobi3d
