// SPDX-License-Identifier: Apache-2.0
/// \file
/// The Jacobi step of a block as kernels: alone, or fused with its halo exchange.
#pragma once

#include "halo.hpp"
#include "sweep.hpp"

namespace jacobi3d {

/// Computes the cells of a tile with the threads of group `g`.
template <class Group>
constexpr void sweep_tile(const sweep& step, const box& tile, const tiling& cut, Group& g) {
  if constexpr (single_thread<Group>) {
    step.rows(tile);
  } else {
    // All threads visit each plane. The `sync` in every fourth plane keeps them close together, so
    // that cells read by one thread are in the cache for its neighbours. Results do not depend on
    // it.
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

/// to = mean of each cell of `from` and its neighbours; ghosts from the array. Groups: `range()`.
struct update {
  static constexpr const char* name = "update";
  static constexpr int group_size = group_threads;
  static constexpr int least_blocks = 4;  // at most 64 registers for each thread

  block_layout shape;
  const double* from;
  double* to;
  box cells;  ///< cells to compute: `whole`, or the `interior` of divided cells
  tiling cut;

  constexpr triple range() const { return cells.empty() ? triple{} : cut.tiles(cells.extent()); }
  template <class Group, class Index>
  constexpr void operator()(Group& g, Index i) const {
    sweep_tile(sweep{shape, from, to}, cut.tile(cells, i), cut, g);
  }
};

/// The same for the cells beside faces only, which may be thin: the `exterior` of divided cells.
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

/// Unpacks, updates and packs in one kernel (fusion C). The ghosts of `from` are copied from the
/// received faces (`in`); the cells beside a face are also copied to the outgoing faces (`out`).
/// The result equals that of the separate kernels bit by bit. Groups: `range()`.
struct fused_step {
  static constexpr const char* name = "fused_step";
  static constexpr int group_size = group_threads;
  static constexpr int least_blocks = 3;  // with 64 registers it would spill

  block_layout shape;
  double* from;
  double* to;
  received_faces in;  ///< null: a fixed boundary, in the ghosts of `from`
  sent_faces out;     ///< null: no neighbour; must not be the memory of `in`
  tiling cut;

  constexpr triple range() const { return cut.tiles(shape.n); }
  /// A tile needs only the ghosts beside it: groups do not wait for each other.
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
  /// Calls visit(f) for the faces of the block that a tile is beside and that have a message.
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
