// SPDX-License-Identifier: Apache-2.0
/// \file
/// The Jacobi step of a block as kernels: by itself, or with its halo in one.
#pragma once

#include "group.hpp"
#include "sweep.hpp"

namespace jacobi3d {

/// Does tile `i` of a box of cells with the group `g`.
template <class Group, class Index>
constexpr void sweep_tile(const sweep& step, const box& cells, const tiling& cut, Group& g,
                          Index i) {
  const box tile = cut.tile(cells, i);
  if constexpr (single_thread<Group>) {
    step.rows(tile);
  } else {
    const auto each_column = [&]<int Rows>() {
      g.for_each(cut.width * (cut.height / Rows), [&](int t) {
        const int x = tile.begin.x + t % cut.width, y = tile.begin.y + t / cut.width * Rows;
        if (x < tile.end.x && y < tile.end.y)
          step.columns<Rows>(x, y, tile.end.y, tile.begin.z, tile.end.z);
      });
    };
    if (cut.rows == 4)
      each_column.template operator()<4>();
    else
      each_column.template operator()<1>();
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
  box cells;  ///< those that are computed: `whole`, `interior` or one of `exterior`
  tiling cut;

  constexpr triple range() const { return cells.empty() ? triple{} : cut.tiles(cells.extent()); }
  template <class Group, class Index>
  constexpr void operator()(Group& g, Index i) const {
    sweep_tile(sweep{shape, from, to, {}, {}}, cells, cut, g, i);
  }
};

/// Unpack, update and pack in one (fusion C): reads neighbours' cells from the faces received
/// (`in`), writes its own to those that are sent (`out`). The ghosts of `to` stay as they were; the
/// bits are those of the kernels one after the other. Groups: `range()`.
struct fused_step {
  static constexpr const char* name = "fused_step";
  static constexpr int group_size = group_threads;
  static constexpr int least_blocks = 3;  // 80 registers: four would spill

  block_layout shape;
  const double* from;
  double* to;
  received_faces in;  ///< null: a fixed boundary, in the ghosts of `from`
  sent_faces out;     ///< null: nobody wants it; not the memory of `in`
  tiling cut;

  constexpr triple range() const { return cut.tiles(shape.n); }
  template <class Group, class Index>
  constexpr void operator()(Group& g, Index i) const {
    sweep_tile(sweep{shape, from, to, in, out}, whole(shape), cut, g, i);
  }
};

}  // namespace jacobi3d
