// SPDX-License-Identifier: Apache-2.0
/// \file
/// Ghost cells, one direction at a time (ghost_copy, for exchanges between pairs of sub-grids) or
/// all at once (ghost_fill, where all sub-grids lie in one array).
#pragma once

#include "lanes.hpp"
#include "layout.hpp"
#include "scheme.hpp"

namespace sedov {

/// Cells of a ghost region along one axis: [begin, begin + size) for a direction component.
constexpr int ghost_begin(int component) {
  return component < 0 ? -ghost_width : component > 0 ? edge : 0;
}
constexpr int ghost_size(int component) { return component == 0 ? edge : ghost_width; }

/// Interior cell of the source that feeds ghost coordinate `i` of an axis.
constexpr int source_cell(int i, int component, axis_rule rule) {
  if (component == 0) return i;
  if (rule == axis_rule::zero_gradient) return component < 0 ? 0 : edge - 1;
  if (rule == axis_rule::mirror) return component < 0 ? -1 - i : 2 * edge - 1 - i;
  return i - edge * component;
}

/// Where direction `d` takes its ghosts from, the mutation "one direction skipped" included.
constexpr ghost_source source_with(const mutation& error, const mesh& grid, int id, int d,
                                   boundary_kind kind) {
  if (d != error.dropped_direction) return grid.source(id, d, kind);
  const triple v = direction_vector(d);
  ghost_source s{id, {}};
  for (int a = 0; a < 3; ++a) s.rule[a] = v[a] == 0 ? axis_rule::inside : axis_rule::zero_gradient;
  return s;
}

/// One cell beyond the domain: from the source cell's fields to the ghost cell's, in place.
/// `from` and `to` are the positions of their centres.
struct boundary_transform {
  triple direction;
  axis_rule rule[3];

  constexpr void operator()(double (&u)[field_count], const double (&from)[3],
                            const double (&to)[3]) const {
    double s[3] = {u[field::sx], u[field::sy], u[field::sz]};
    double spin[3];
    for (int a = 0; a < 3; ++a) {
      const int b = (a + 1) % 3, c = (a + 2) % 3;
      spin[a] = u[field::lx + a] - (from[b] * s[c] - from[c] * s[b]);
    }
    double removed = 0.0;
    for (int a = 0; a < 3; ++a) {
      if (rule[a] == axis_rule::zero_gradient) {
        const bool inward = direction[a] * s[a] < 0.0;
        removed += inward ? s[a] * s[a] : 0.0;
        s[a] = inward ? 0.0 : s[a];
      } else if (rule[a] == axis_rule::mirror) {  // the spin is an axial vector
        s[a] = -s[a];
        spin[(a + 1) % 3] = -spin[(a + 1) % 3];
        spin[(a + 2) % 3] = -spin[(a + 2) % 3];
      }
    }
    u[field::egas] -= 0.5 * removed / u[field::rho];
    for (int a = 0; a < 3; ++a) {
      const int b = (a + 1) % 3, c = (a + 2) % 3;
      u[field::sx + a] = s[a];
      u[field::lx + a] = spin[a] + (to[b] * s[c] - to[c] * s[b]);
    }
  }
};

/// Copies the ghost cells of one direction of one sub-grid from their source's interior.
/// Range (rows of the region, 1, 1). Reads the interior of the source, writes ghosts only, so all
/// directions of all sub-grids may run at once.
struct ghost_copy {
  const double* from;  ///< the source's block
  double* to;          ///< my block
  layout from_layout;  ///< `compact` or `ghosted`
  layout to_layout;    ///< `ghosted`, or a single-field variant of it with energy_only
  mesh grid;
  int subgrid;  ///< mine
  int direction;
  ghost_source source;
  bool energy_only;  ///< field egas alone, written as field 0 of to_layout if that has one field

  constexpr extent range() const {
    const triple v = direction_vector(direction);
    return {ghost_size(v.y) * ghost_size(v.z), 1, 1};
  }
  template <class Index>
  constexpr void operator()(Index i) const {
    const triple v = direction_vector(direction);
    const int rows = ghost_size(v.y);
    const int y = ghost_begin(v.y) + i.x % rows, z = ghost_begin(v.z) + i.x / rows;
    if (!source.plain()) {
      for (int x = ghost_begin(v.x); x < ghost_begin(v.x) + ghost_size(v.x); ++x) {
        transform_cell(v, x, y, z);
      }
      return;
    }
    const double* in =
        from + from_layout.at(0, 0, source_cell(ghost_begin(v.x), v.x, source.rule[0]),
                              source_cell(y, v.y, source.rule[1]),
                              source_cell(z, v.z, source.rule[2]));
    double* out = to + to_layout.at(0, 0, ghost_begin(v.x), y, z);
    if (v.x == 0) {
      copy_row<edge>(in, out);
    } else {
      copy_row<ghost_width>(in, out);
    }
  }

  /// The general case of one cell: domain boundaries.
  constexpr void transform_cell(triple v, int x, int y, int z) const {
    const triple c = {source_cell(x, v.x, source.rule[0]), source_cell(y, v.y, source.rule[1]),
                      source_cell(z, v.z, source.rule[2])};
    double u[field_count] = {};
    for (int f = 0; f < field_count; ++f) u[f] = from[from_layout.at(0, f, c.x, c.y, c.z)];
    const triple mine = mesh::place(subgrid), other = mesh::place(source.subgrid);
    const double there[3] = {grid.centre(other.x * edge + c.x), grid.centre(other.y * edge + c.y),
                             grid.centre(other.z * edge + c.z)};
    const double here[3] = {grid.centre(mine.x * edge + x), grid.centre(mine.y * edge + y),
                            grid.centre(mine.z * edge + z)};
    boundary_transform{v, {source.rule[0], source.rule[1], source.rule[2]}}(u, there, here);
    if (energy_only) {
      to[to_layout.at(0, energy_field(), x, y, z)] = u[field::egas];
      return;
    }
    for (int f = 0; f < field_count; ++f) to[to_layout.at(0, f, x, y, z)] = u[f];
  }

 private:
  constexpr int energy_field() const {
    return to_layout.block == to_layout.field ? 0 : int{field::egas};
  }
  template <int Cells>
  constexpr void copy_row(const double* in, double* out) const {
    if (energy_only) {
      in += field::egas * from_layout.field;
      out += energy_field() * to_layout.field;
      for (int x = 0; x < Cells; ++x) out[x] = in[x];
      return;
    }
    for (int f = 0; f < field_count; ++f) {
      for (int x = 0; x < Cells; ++x) out[f * to_layout.field + x] = in[f * from_layout.field + x];
    }
  }
};

/// Fills the ghost cells of all sub-grids of one [count][15][14^3] array. Range (2744, 1, count).
struct ghost_fill {
  double* u;
  mesh grid;
  boundary_kind boundary;
  mutation error;
  bool energy_only;

  constexpr extent range() const { return {ghosted_cells, 1, grid.subgrid_count()}; }
  template <class Index>
  constexpr void operator()(Index i) const {
    const int x = i.x % ghosted_edge - ghost_width;
    const int y = i.x / ghosted_edge % ghosted_edge - ghost_width;
    const int z = i.x / ghosted.plane - ghost_width;
    const triple v = {side(x), side(y), side(z)};
    if (v == triple{}) return;
    const int d = direction_index(v);
    const ghost_source s = source_with(error, grid, i.z, d, boundary);
    const double* from = u + index_type{s.subgrid} * ghosted.block;
    double* to = u + index_type{i.z} * ghosted.block;
    if (!s.plain()) {
      ghost_copy{from, to, ghosted, ghosted, grid, i.z, d, s, energy_only}.transform_cell(v, x, y,
                                                                                          z);
      return;
    }
    const index_type a = ghosted_at(0, 0, x - edge * v.x, y - edge * v.y, z - edge * v.z);
    const index_type b = ghosted_at(0, 0, x, y, z);
    if (energy_only) {
      to[b + field::egas * ghosted.field] = from[a + field::egas * ghosted.field];
      return;
    }
    for (int f = 0; f < field_count; ++f) to[b + f * ghosted.field] = from[a + f * ghosted.field];
  }

 private:
  static constexpr int side(int i) { return i < 0 ? -1 : i >= edge ? 1 : 0; }
};

/// Copies interior cells between layouts. Range (512, 15, count).
struct interior_copy {
  const double* from;
  double* to;
  layout from_layout, to_layout;
  int count;

  constexpr extent range() const { return {cells_per_subgrid, field_count, count}; }
  template <class Index>
  constexpr void operator()(Index i) const {
    apply<double>(i.x, i.y, i.z);
  }
  template <class V, class Index>
  [[gnu::flatten]] constexpr void lanes(Index i) const {
    apply<V>(i.x, i.y, i.z);
  }
  template <class V>
  constexpr void apply(int cell, int f, int n) const {
    const int x = cell % edge, y = cell / edge % edge, z = cell / (edge * edge);
    ops<V>::store(to + to_layout.at(n, f, x, y, z),
                  ops<V>::load(from + from_layout.at(n, f, x, y, z)));
  }
};

}  // namespace sedov
