// SPDX-License-Identifier: Apache-2.0
/// \file
/// Copies of faces between a block's array and messages: one by one, or all in one kernel (thesis,
/// 5.2.4).
#pragma once

#include "group.hpp"

namespace jacobi3d {

/// Number of cells of a face that one group copies.
inline constexpr int copied_by_group = group_threads;

/// Calls copy(offset in the array, position in the message) for cells [begin, end) of a layer,
/// counted along its rows, distributed over the group.
template <class Group, class Copy>
constexpr void visit_layer(Group& g, const layer& l, int begin, int end, Copy copy) {
  if constexpr (single_thread<Group>) {
    while (begin < end) {
      const int row = begin / l.width, first = begin - row * l.width;
      const int cells = std::min(l.width - first, end - begin);
      const offset at = l.origin + row * l.row;
      const int position = l.position + row * l.message_row;
      if (l.step == 1)
        for (int k = first; k < first + cells; ++k) copy(at + k, position + k);
      else
        for (int k = first; k < first + cells; ++k) copy(at + k * l.step, position + k);
      begin += cells;
    }
  } else {
    g.for_each(std::max(end - begin, 0), [&](int k) {
      const int row = (begin + k) / l.width, cell = begin + k - row * l.width;
      copy(l.origin + row * l.row + cell * l.step, l.position + row * l.message_row + cell);
    });
  }
}

/// Does the same for all cells of a layer.
template <class Group, class Copy>
constexpr void visit_layer(Group& g, const layer& l, Copy copy) {
  visit_layer(g, l, 0, l.width * l.height, copy);
}

/// Does the same for the cells of group number `part`.
template <class Group, class Copy>
constexpr void visit_part(Group& g, const layer& l, int part, Copy copy) {
  const int begin = part * copied_by_group;
  visit_layer(g, l, begin, std::min(begin + copied_by_group, l.width * l.height), copy);
}

/// Copies a group's cells of a face from the array to a message.
template <class Group>
constexpr void pack_part(Group& g, const block_layout& s, face f, const double* block,
                         double* message, int part) {
  visit_part(g, layer::own(s, f), part,
             [&](offset at, int position) { message[position] = block[at]; });
}
/// Copies a group's cells of a face from a message to the ghosts.
template <class Group>
constexpr void unpack_part(Group& g, const block_layout& s, face f, double* block,
                           const double* message, int part) {
  visit_part(g, layer::ghosts(s, f), part,
             [&](offset at, int position) { block[at] = message[position]; });
}

/// Copies the cells beside a face to a message of `face_size` cells. Groups: `range()`.
struct pack {
  static constexpr const char* name = "pack";
  static constexpr int group_size = group_threads;
  static constexpr int host_grain = 32;

  block_layout shape;
  face which;
  const double* block;
  double* message;

  constexpr triple range() const {
    return {tiling::pieces(face_size(shape, which), copied_by_group), 1, 1};
  }
  template <class Group, class Index>
  constexpr void operator()(Group& g, Index i) const {
    pack_part(g, shape, which, block, message, i.x);
  }
};

/// Copies a neighbour's message to the ghosts beyond a face. Groups: `range()`.
struct unpack {
  static constexpr const char* name = "unpack";
  static constexpr int group_size = group_threads;
  static constexpr int host_grain = 32;

  block_layout shape;
  face which;
  double* block;
  const double* message;

  constexpr triple range() const {
    return {tiling::pieces(face_size(shape, which), copied_by_group), 1, 1};
  }
  template <class Group, class Index>
  constexpr void operator()(Group& g, Index i) const {
    unpack_part(g, shape, which, block, message, i.x);
  }
};

/// Packs all faces that have a message, one after the other. There are as many groups as the
/// largest face needs.
struct pack_faces {
  static constexpr const char* name = "pack_faces";
  static constexpr int group_size = group_threads;
  static constexpr int host_grain = 16;

  block_layout shape;
  const double* block;
  sent_faces messages;

  constexpr triple range() const {
    return {tiling::pieces(largest_face(shape), copied_by_group), 1, 1};
  }
  template <class Group, class Index>
  constexpr void operator()(Group& g, Index i) const {
    for (int f = 0; f < face_count; ++f)
      if (messages.of[f] != nullptr) pack_part(g, shape, face_of(f), block, messages.of[f], i.x);
  }
};

/// Unpacks all faces that have a message in the same way.
struct unpack_faces {
  static constexpr const char* name = "unpack_faces";
  static constexpr int group_size = group_threads;
  static constexpr int host_grain = 16;

  block_layout shape;
  double* block;
  received_faces messages;

  constexpr triple range() const {
    return {tiling::pieces(largest_face(shape), copied_by_group), 1, 1};
  }
  template <class Group, class Index>
  constexpr void operator()(Group& g, Index i) const {
    for (int f = 0; f < face_count; ++f)
      if (messages.of[f] != nullptr) unpack_part(g, shape, face_of(f), block, messages.of[f], i.x);
  }
};

}  // namespace jacobi3d
