// SPDX-License-Identifier: Apache-2.0
/// \file
/// Shapes: cells of the grid and of a block, the faces of a block, and their layout in memory.
#pragma once

#include <algorithm>

#include "common/physics/shape.hpp"

namespace jacobi3d {

using apps::offset;
using apps::rounded_up;
using apps::triple;

constexpr offset volume(triple n) { return offset{n.x} * n.y * n.z; }

/// The faces of a block, by the direction of the neighbour: -x, +x, -y, +y, -z, +z.
enum class face : int { west, east, south, north, bottom, top };
inline constexpr int face_count = 6;
constexpr face face_of(int number) { return static_cast<face>(number); }
constexpr int number_of(face f) { return static_cast<int>(f); }
constexpr face opposite(face f) { return face_of(number_of(f) ^ 1); }
/// Returns the unit vector to the neighbour.
constexpr triple direction(face f) {
  const int side = (number_of(f) & 1) * 2 - 1;
  const int axis = number_of(f) / 2;
  return {axis == 0 ? side : 0, axis == 1 ? side : 0, axis == 2 ? side : 0};
}
constexpr const char* name_of(face f) {
  switch (f) {
    case face::west:
      return "west";
    case face::east:
      return "east";
    case face::south:
      return "south";
    case face::north:
      return "north";
    case face::bottom:
      return "bottom";
    default:
      return "top";
  }
}

/// A value for each face of a block; for example a pointer to the cells of the face, null if there
/// is no neighbour.
template <class Value>
struct per_face {
  Value of[face_count] = {};
  constexpr Value& operator[](face f) { return of[number_of(f)]; }
  constexpr const Value& operator[](face f) const { return of[number_of(f)]; }
};
using sent_faces = per_face<double*>;
using received_faces = per_face<const double*>;

/// The layout of a block's array: cells 0 ≤ i < n in rows along x, planes of rows, and one layer of
/// ghost cells around them. Cell 0 of each row is at the begin of a line of 128 bytes if the array
/// is.
struct block_layout {
  static constexpr int line = 16;  ///< numbers in 128 bytes

  triple n;          ///< cells without ghosts, each at least 1
  offset pitch = 0;  ///< distance of a cell to its neighbour in y
  offset plane = 0;  ///< distance of a cell to its neighbour in z

  constexpr block_layout() = default;
  explicit constexpr block_layout(triple cells)
      : n(cells), pitch(rounded_up(offset{cells.x} + 2, line)),
        plane(pitch * (offset{cells.y} + 2)) {}

  /// Returns the offset of a cell, each coordinate in -1 … n.
  constexpr offset at(int i, int j, int k) const {
    return line + i + (offset{j} + 1) * pitch + (offset{k} + 1) * plane;
  }
  constexpr offset at(triple c) const { return at(c.x, c.y, c.z); }
  /// Returns how many numbers to allocate, 8 bytes each.
  constexpr offset size() const { return line + plane * (offset{n.z} + 2); }
};

/// Return the extents of a face in a message: cells are ordered along the face's first axis, then
/// along its second one, in the order x, y, z.
constexpr int face_width(const block_layout& s, face f) { return number_of(f) < 2 ? s.n.y : s.n.x; }
constexpr int face_height(const block_layout& s, face f) {
  return number_of(f) < 4 ? s.n.z : s.n.y;
}
/// Returns the number of cells of a face; it must be at most 2^31 - 1.
constexpr int face_size(const block_layout& s, face f) {
  return face_width(s, f) * face_height(s, f);
}
constexpr int largest_face(const block_layout& s) {
  return std::max(
      {face_size(s, face::west), face_size(s, face::south), face_size(s, face::bottom)});
}

/// Cells begin ≤ c < end.
struct box {
  triple begin, end;
  constexpr triple extent() const { return {end.x - begin.x, end.y - begin.y, end.z - begin.z}; }
  constexpr bool empty() const { return end.x <= begin.x || end.y <= begin.y || end.z <= begin.z; }
  friend constexpr bool operator==(const box&, const box&) = default;
};

/// A layer of cells in a block's array, and the positions of these cells in the message of a face.
struct layer {
  offset origin;      ///< offset of the first cell
  offset step, row;   ///< distance to the next cell, to the next row
  int width, height;  ///< cells of a row, number of rows
  int position;       ///< position of the first cell in the message
  int message_row;    ///< distance of two rows in the message

  /// Return the cells beside a face: the block's own cells, or the ghosts beyond.
  static constexpr layer own(const block_layout& s, face f) { return beside(s, f, 0); }
  static constexpr layer ghosts(const block_layout& s, face f) { return beside(s, f, 1); }

  /// Returns the cells of this layer that are beside a part of the block.
  constexpr layer along(const box& part, face f) const {
    const triple n = part.extent();
    const bool across_x = number_of(f) < 2, across_z = number_of(f) >= 4;
    const int first = across_x ? part.begin.y : part.begin.x;
    const int line = across_z ? part.begin.y : part.begin.z;
    return {origin + first * step + line * row,
            step,
            row,
            across_x ? n.y : n.x,
            across_z ? n.y : n.z,
            position + first + line * message_row,
            message_row};
  }

 private:
  static constexpr layer beside(const block_layout& s, face f, int beyond) {
    const triple d = direction(f);
    const auto place = [beyond](int side, int cells) {
      return side < 0 ? -beyond : side > 0 ? cells - 1 + beyond : 0;
    };
    return {s.at(place(d.x, s.n.x), place(d.y, s.n.y), place(d.z, s.n.z)),
            d.x != 0 ? s.pitch : 1,
            d.z != 0 ? s.pitch : s.plane,
            face_width(s, f),
            face_height(s, f),
            0,
            face_width(s, f)};
  }
};

constexpr box whole(const block_layout& s) { return {{0, 0, 0}, s.n}; }
/// The cells of a block, divided into the cells beside faces with a neighbour and the interior. The
/// interior has whole rows unless there is a neighbour in x. The boxes are disjoint; some may be
/// empty.
struct divided_cells {
  box interior;            ///< needs no cells of a neighbour
  per_face<box> exterior;  ///< by face; a cell at several faces belongs to the first in z, y, x

  constexpr divided_cells(const block_layout& s, const per_face<bool>& has_neighbour)
      : interior(whole(s)) {
    for (const face f :
         {face::bottom, face::top, face::south, face::north, face::west, face::east}) {
      exterior[f] = box{interior.begin, interior.begin};
      if (!has_neighbour[f] || interior.empty()) continue;
      exterior[f] = interior;
      const triple d = direction(f), b = interior.begin, e = interior.end;
      if (d.x + d.y + d.z < 0) {
        interior.begin = {b.x - d.x, b.y - d.y, b.z - d.z};
        exterior[f].end = {d.x != 0 ? b.x + 1 : e.x, d.y != 0 ? b.y + 1 : e.y,
                           d.z != 0 ? b.z + 1 : e.z};
      } else {
        interior.end = {e.x - d.x, e.y - d.y, e.z - d.z};
        exterior[f].begin = {d.x != 0 ? e.x - 1 : b.x, d.y != 0 ? e.y - 1 : b.y,
                             d.z != 0 ? e.z - 1 : b.z};
      }
    }
  }
};

}  // namespace jacobi3d
