// SPDX-License-Identifier: Apache-2.0
/// \file
/// The Jacobi step of a block as kernels: by itself, or with its halo in one.
#pragma once

#include "halo.hpp"
#include "sweep.hpp"

namespace jacobi3d {

/// The mean of each cell of a tile and its neighbours, from array to array, by the group `g`.
template <class Group>
constexpr void sweep_tile(const sweep& step, const box& tile, const tiling& cut, Group& g) {
  if constexpr (single_thread<Group>) {
    step.rows(tile);
  } else {
    // All threads come by each plane. They begin it at about the same time, now and then: what one
    // reads, its neighbours find in the cache. Nobody's results depend on it.
    const auto stay_together = [&g](int plane) {
      if (plane % 4 == 0) g.sync();
    };
    const int columns = cut.width * tiling::pieces(cut.height, thread_columns);
    for (int first = 0; first < columns; first += g.size()) {
      const int t = first + g.rank();
      const int x = tile.begin.x + t % cut.width;
      const int y = tile.begin.y + t / cut.width * thread_columns;
      step.columns(x, t < columns ? y : tile.end.y, tile, stay_together);
    }
  }
}

/// to = mean of from and its neighbours, ghosts from the array. Groups: `range()`.
struct update {
  static constexpr const char* name = "update";
  static constexpr int group_size = group_threads;
  static constexpr int least_blocks = 4;  // at most 64 registers for a thread

  block_layout shape;
  const double* from;
  double* to;
  box cells;  ///< those that are computed: `whole`, or the `interior` of divided cells
  tiling cut;

  constexpr triple range() const { return cells.empty() ? triple{} : cut.tiles(cells.extent()); }
  template <class Group, class Index>
  constexpr void operator()(Group& g, Index i) const {
    sweep_tile(sweep{shape, from, to}, cut.tile(cells, i), cut, g);
  }
};

/// The same for the cells beside faces alone, however thin: the `exterior` of divided cells.
/// Groups: `range()`.
struct update_faces {
  static constexpr const char* name = "update_faces";
  static constexpr int group_size = group_threads;
  static constexpr int host_grain = 16;

  block_layout shape;
  const double* from;
  double* to;
  per_face<box> cells;

  constexpr triple range() const {
    return {tiling::pieces(largest_face(shape), copied_by_group), 1, 1};
  }
  template <class Group, class Index>
  constexpr void operator()(Group& g, Index i) const {
    for (int f = 0; f < face_count; ++f) {
      if (cells.of[f].empty()) continue;
      const layer l = layer::own(shape, face_of(f)).along(cells.of[f], face_of(f));
      visit_part(g, l, i.x, [&](offset at, int) {
        to[at] = mean_of(from[at], from[at - 1], from[at + 1], from[at - shape.pitch],
                         from[at + shape.pitch], from[at - shape.plane], from[at + shape.plane]);
      });
    }
  }
};

/// Unpack, update and pack in one (fusion C): the ghosts of `from` come from the faces received
/// (`in`), the cells beside a face also go to those that are sent (`out`). The bits are those of
/// the kernels one after the other. Groups: `range()`.
struct fused_step {
  static constexpr const char* name = "fused_step";
  static constexpr int group_size = group_threads;
  static constexpr int least_blocks = 3;  // with 64 registers it would spill

  block_layout shape;
  double* from;
  double* to;
  received_faces in;  ///< null: a fixed boundary, in the ghosts of `from`
  sent_faces out;     ///< null: nobody wants it; not the memory of `in`
  tiling cut;

  constexpr triple range() const { return cut.tiles(shape.n); }
  /// A tile needs no ghosts but those beside it: nobody waits for other groups.
  template <class Group, class Index>
  constexpr void operator()(Group& g, Index i) const {
    const box tile = cut.tile(whole(shape), i);
    if (tile.empty()) return;
    for_each_edge(tile, in, [&](face f) {
      visit_layer(g, layer::ghosts(shape, f).along(tile, f),
                  [&](offset at, int position) { from[at] = in[f][position]; });
    });
    g.sync();
    sweep_tile(sweep{shape, from, to}, tile, cut, g);
    g.sync();
    for_each_edge(tile, out, [&](face f) {
      visit_layer(g, layer::own(shape, f).along(tile, f),
                  [&](offset at, int position) { out[f][position] = to[at]; });
    });
  }

 private:
  /// The faces of the block beside which a tile lies and that have a message.
  template <class Messages, class Visit>
  constexpr void for_each_edge(const box& tile, const Messages& messages, Visit visit) const {
    for (int f = 0; f < face_count; ++f)
      if (messages.of[f] != nullptr && lies_beside(tile, face_of(f))) visit(face_of(f));
  }
  constexpr bool lies_beside(const box& tile, face f) const {
    switch (f) {
      case face::west:
        return tile.begin.x == 0;
      case face::east:
        return tile.end.x == shape.n.x;
      case face::south:
        return tile.begin.y == 0;
      case face::north:
        return tile.end.y == shape.n.y;
      case face::bottom:
        return tile.begin.z == 0;
      default:
        return tile.end.z == shape.n.z;
    }
  }
};

}  // namespace jacobi3d
