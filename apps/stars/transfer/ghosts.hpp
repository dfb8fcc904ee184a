// SPDX-License-Identifier: Apache-2.0
/// \file
/// Ghost cells from neighbours and from the domain's boundaries.
#pragma once

#include <cstring>
#include <type_traits>

#include "kernel/lanes.hpp"
#include "mesh/ghost_regions.hpp"
#include "mesh/layout.hpp"
#include "mesh/part_plan.hpp"
#include "transfer/boundary.hpp"

namespace stars {

/// Fills `count` sub-grids with their ghost cells, from the interiors around them.
///
/// Two forms with the same bits. One index for each cell, range (2744, 1, count). Or, with `sweep`,
/// one vector for each sub-grid, range (width, 1, count): direction by direction in whole rows. The
/// call with x = 0 does all the work.
struct ghost_fill {
  const double* from;           ///< [slots][15][512]
  double* to;                   ///< [count][15][14^3]
  const subgrid_frame* frames;  ///< [slots]
  const ghost_source* sources;  ///< [count][26]
  int first;                    ///< slot of the first sub-grid
  int count;
  bool energy_only;     ///< field egas only: `to` is [count][14^3]
  int sweep;            ///< 0, or the lanes of the vectors that sweep
  double weight = 0.0;  ///< gravity / (gamma - 1), by which the pressure changes beyond walls

  static constexpr int host_grain = 64;  ///< for sweeps: eight sub-grids with eight lanes

  constexpr extent range() const { return {sweep > 0 ? sweep : ghosted_cells, 1, count}; }
  /// For a kernel without `sweep`.
  template <class Index>
  constexpr void operator()(Index i) const {
    const auto [at, v, s] = cell_of(i.x, i.z);
    if (!s.plain()) return transform<double>(v, s, at, i.z);
    const double* in = from + compact_at(s.slot, first_field(), at.x - edge * v.x,
                                         at.y - edge * v.y, at.z - edge * v.z);
    double* out = place(i.z, at);
    for (int f = 0; f < fields(); ++f) out[f * ghosted.field] = in[f * compact.field];
  }
  /// Returns all fields of a cell in `u`. `cell` is its number in a sub-grid with ghosts.
  constexpr void gather(int cell, int n, double (&u)[field_count]) const {
    const auto [at, v, s] = cell_of(cell, n);
    const triple c = {source_cell(at.x, v.x, s.rule[0]), source_cell(at.y, v.y, s.rule[1]),
                      source_cell(at.z, v.z, s.rule[2])};
    const double* in = from + compact_at(s.slot, 0, c.x, c.y, c.z);
    for (int f = 0; f < field_count; ++f) u[f] = in[f * compact.field];
    if (!s.plain()) transform_cell<double>(v, s, c, at, n, u);
  }
  /// For a kernel with `sweep`.
  template <class V, class Index>
  constexpr void lanes(Index i) const {
    if (i.x != 0) return;
    for (int k = 0; k < 9; ++k) fill_rows<V>(k % 3 - 1, k / 3 - 1, i.z);
  }

 private:
  static constexpr int side(int i) { return i < 0 ? -1 : i >= edge ? 1 : 0; }
  /// A cell of a sub-grid with ghosts: its position, the direction in which it is, and its source.
  struct fed_cell {
    triple at, side;
    ghost_source source;
  };
  constexpr fed_cell cell_of(int cell, int n) const {
    const triple at = {cell % ghosted_edge - ghost_width,
                       cell / ghosted_edge % ghosted_edge - ghost_width,
                       cell / ghosted.plane - ghost_width};
    const triple v = {side(at.x), side(at.y), side(at.z)};
    return {at, v, source_of(v, n)};
  }
  constexpr int fields() const { return energy_only ? 1 : field_count; }
  constexpr int first_field() const { return energy_only ? field::egas : 0; }
  /// Returns the address of the first field of a cell.
  constexpr double* place(int n, triple c) const {
    return to + index_type{n} * (energy_only ? ghosted.field : ghosted.block) +
           ghosted_at(0, 0, c.x, c.y, c.z);
  }
  constexpr ghost_source source_of(triple v, int n) const {
    if (v == triple{}) return {first + n, {}};
    return sources[index_type{n} * direction_count + direction_index(v)];
  }

  /// Fills whole rows, from three sources.
  template <class V>
  constexpr void fill_rows(int vy, int vz, int n) const {
    const double* in[3] = {};  // portions of rows that are copied unchanged
    for (int k = 0; k < 3; ++k) {
      const triple v = {k - 1, vy, vz};
      const ghost_source s = source_of(v, n);
      if (s.plain()) {
        in[k] = from + compact_at(s.slot, first_field(), ghost_begin(v.x) - edge * v.x,
                                  ghost_begin(vy) - edge * vy, ghost_begin(vz) - edge * vz);
      } else {
        transform_region<V>(v, s, n);
      }
    }
    copy_rows(in, place(n, {-ghost_width, ghost_begin(vy), ghost_begin(vz)}), ghost_size(vy),
              ghost_size(vz));
  }
  constexpr void copy_rows(const double* const (&in)[3], double* out, int rows, int planes) const {
    const int most = fields();  // a copy: stores might change members
    const double *left = in[0], *middle = in[1], *right = in[2];
    const auto copy = [](double* to_row, const double* from_row, index_type at, auto cells) {
      if (from_row != nullptr) std::memcpy(to_row, from_row + at, cells * sizeof(double));
    };
    for (int f = 0; f < most; ++f) {
      for (int z = 0; z < planes; ++z) {
        index_type at = f * compact.field + z * compact.plane;
        double* row = out + f * ghosted.field + z * ghosted.plane;
        for (int y = 0; y < rows; ++y, at += compact.row, row += ghosted.row) {
          copy(row, left, at, std::integral_constant<int, ghost_width>());
          copy(row + ghost_width, middle, at, std::integral_constant<int, edge>());
          copy(row + ghost_width + edge, right, at, std::integral_constant<int, ghost_width>());
        }
      }
    }
  }

  /// Fills a region beyond the domain. Lanes are cells along an axis on which the region has the
  /// extent of a sub-grid; at a corner there is none.
  template <class V>
  [[gnu::flatten]] constexpr void transform_region(triple v, const ghost_source& s, int n) const {
    if (v.x == 0) return transform_region<V, 0>(v, s, n);
    if (v.y == 0) return transform_region<V, 1>(v, s, n);
    if (v.z == 0) return transform_region<V, 2>(v, s, n);
    transform_region<double, 0>(v, s, n);
  }
  template <class V, int Axis>
  constexpr void transform_region(triple v, const ghost_source& s, int n) const {
    const auto step = [](int axis) { return axis == Axis ? ops<V>::width : 1; };
    const triple at = {ghost_begin(v.x), ghost_begin(v.y), ghost_begin(v.z)};
    for (int z = at.z; z < at.z + ghost_size(v.z); z += step(2))
      for (int y = at.y; y < at.y + ghost_size(v.y); y += step(1))
        for (int x = at.x; x < at.x + ghost_size(v.x); x += step(0))
          transform<V, Axis>(v, s, {x, y, z}, n);
  }

  /// The general case: cells beyond the domain, a vector of them along an axis.
  template <class V, int Axis = 0>
  constexpr void transform(triple v, const ghost_source& s, triple at, int n) const {
    using o = ops<V>;
    constexpr int from_stride = stride_of(compact, Axis), to_stride = stride_of(ghosted, Axis);
    const triple c = {source_cell(at.x, v.x, s.rule[0]), source_cell(at.y, v.y, s.rule[1]),
                      source_cell(at.z, v.z, s.rule[2])};
    const double* in = from + compact_at(s.slot, 0, c.x, c.y, c.z);
    V u[field_count];
    // With energy_only the tracer is not read: its owner may be re-setting it.
    for (int f = 0; f < field_count; ++f)
      u[f] = energy_only && f == field::tau ? V(0.0) : o::load(in + f * compact.field, from_stride);
    transform_cell<V, Axis>(v, s, c, at, n, u);
    double* out = place(n, at);
    if (energy_only) return o::store(out, to_stride, u[field::egas]);
    for (int f = 0; f < field_count; ++f) o::store(out + f * ghosted.field, to_stride, u[f]);
  }
  /// Converts the fields of the source cell `c` to those of the cell `at` beyond the domain.
  template <class V, int Axis = 0>
  constexpr void transform_cell(triple v, const ghost_source& s, triple c, triple at, int n,
                                V (&u)[field_count]) const {
    const auto centres = [&](int slot, triple cell, V(&p)[3]) {
      const subgrid_frame& in = frames[slot];
      for (int a = 0; a < 3; ++a)
        p[a] = centre(cell[a], in.lower[a], a == Axis ? ops<V>::iota() : V(0.0), in.half_dx);
    };
    V there[3], here[3];
    centres(s.slot, c, there);
    centres(first + n, at, here);
    boundary_transform{v, {s.rule[0], s.rule[1], s.rule[2]}, weight}(u, there, here);
  }
  /// Returns the coordinate of the centres of the cells from `cell` on.
  template <class V>
  static constexpr V centre(int cell, double lower, V lane, double half_dx) {
    return (V(2.0) * lane + V(double(2 * cell + 1) + lower)) * V(half_dx);
  }
};

/// Returns the kernel for the sub-grid in slot `n`, which has row n of the sources, `width` lanes
/// at a time: all fields, or only its energy. `weight`: of gas beyond walls, `scheme::weight`.
inline ghost_fill ghosts_of(const double* from, const subgrid_view& at, int n, int width,
                            double* to, bool energy_only = false, double weight = 0.0) {
  return {from, to, at.frames, at.sources_of(n), n, 1, energy_only, sweep_of(width), weight};
}

}  // namespace stars
