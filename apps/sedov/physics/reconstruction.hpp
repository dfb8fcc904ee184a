// SPDX-License-Identifier: Apache-2.0
/// \file
/// Kernel 4 of a stage: states at the 26 points of each cell.
#pragma once

#include <utility>

#include "gas.hpp"
#include "layout.hpp"
#include "profile.hpp"

namespace sedov {

/// Kernel 4: 1-D PPM along the 13 lines through each cell, then the conserved state at both ends.
///
/// Two forms with the same bits. One index per cell and pair of directions, range
/// (100 rows of ring_edge, 13, count). Or, with `sweep`, one call per pair of directions, range
/// (width, 13, count): variable by variable, so that a variable stays in the nearest cache, and
/// then the states, box by box. The call with x = 0 does the work of the whole pair.
struct reconstruction {
  const double* w;     ///< [count][15][14^3] from pre_reconstruction
  const double* jump;  ///< [count][13][10^3] from discontinuity_2
  double* points;      ///< [count][26][17][736]
  mesh grid;
  int first;
  int count;
  int sweep;        ///< 0, or the lanes of the vectors that will sweep
  bool parabolic;   ///< false: minmod-limited linear profiles for every field
  bool faces_only;  ///< skip diagonals, for the one-point quadrature
  double gamma;
  double omega;

  constexpr extent range() const {
    return {sweep > 0 ? sweep : ring_edge * ring_rows, pair_count, count};
  }
  template <class Index>
  constexpr void operator()(Index i) const {
    apply<double>(i.x, i.y, i.z);
  }
  template <class V, class Index>
  [[gnu::flatten]] constexpr void lanes(Index i) const {
    apply<V>(i.x, i.y, i.z);
  }

  template <class V>
  constexpr void apply(int flat, int pair, int n) const {
    const triple d = direction_vector(pair);
    if (faces_only && d.x * d.x + d.y * d.y + d.z * d.z > 1) return;
    if (sweep > 0) {
      if (flat != 0) return;
      parabolic ? sweep_pair<V, true>(pair, n) : sweep_pair<V, false>(pair, n);
    } else if constexpr (ops<V>::width == 1) {
      const ring_window at = ring_window::of(flat, ring_edge, d, 1);
      if (!at.needed) return;
      parabolic ? one_cell<V, true>(at, pair, n) : one_cell<V, false>(at, pair, n);
    }
  }

 private:
  template <class V>
  struct position {
    V x, y, z;
  };

  static constexpr profile_kind kind_of(int f) {
    return f == field::rho || f >= field::species ? profile_kind::steepened
           : f == field::pot                      ? profile_kind::smooth
           : f >= field::lx                       ? profile_kind::linear
                                                  : profile_kind::limited;
  }
  template <class V, bool Parabolic, int Field>
  static constexpr profile<V> field_profile(const double* u, int step, V contact) {
    constexpr profile_kind kind = Parabolic ? kind_of(Field) : profile_kind::linear;
    return profile_of<V, kind>(u + Field * ghosted.field, step, contact);
  }
  static constexpr int step_of(triple d) {
    return d.x + ghosted.row * d.y + ghosted.plane * d.z;
  }
  static constexpr int jump_place(int x, int y, int z) {
    return (x + 1) + ring_edge * (y + 1) + ring_rows * (z + 1);
  }

  /// The cells whose state in one direction is needed. Per axis the box starts at -1 if the
  /// direction leans upwards, and at 0 otherwise.
  struct box {
    int nx, ny, nz, ox, oy, oz;
    constexpr explicit box(triple v)
        : nx(edge + (v.x != 0)), ny(edge + (v.y != 0)), nz(edge + (v.z != 0)), ox(v.x > 0),
          oy(v.y > 0), oz(v.z > 0) {}
    constexpr int place(int x, int y, int z) const {
      return (x + ox) + nx * ((y + oy) + ny * (z + oz));
    }
    constexpr bool holds_row(int y, int z) const {
      return y + oy >= 0 && y + oy < ny && z + oz >= 0 && z + oz < nz;
    }
    template <class V>
    constexpr typename ops<V>::mask lanes_from(int x) const {
      return ops<V>::lanes_between(-(x + ox), nx - (x + ox));
    }
  };
  constexpr double* states(int direction, int n) const {
    return points + index_type{n} * point_block + index_type{direction} * direction_stride;
  }

  template <class V, bool Parabolic>
  constexpr void one_cell(const ring_window& at, int pair, int n) const {
    const triple d = direction_vector(pair), back{-d.x, -d.y, -d.z};
    const double* u = w + ghosted_at(n, 0, at.x, at.y, at.z);
    const V contact = ops<V>::load(jump + index_type{n} * jump_block + pair * ring_cells +
                                   jump_place(at.x, at.y, at.z));
    V up[field_count], down[field_count];
    [&]<int... F>(std::integer_sequence<int, F...>) {
      const auto set = [&](int f, const profile<V>& p) {
        up[f] = p.upper();
        down[f] = p.lower();
      };
      (set(F, field_profile<V, Parabolic, F>(u, step_of(d), contact)), ...);
    }(std::make_integer_sequence<int, field_count>());
    const auto store = [&](triple v, int direction, const V(&raw)[field_count]) {
      const box b(v);
      if (!b.holds_row(at.y, at.z) || !b.lanes_from<V>(at.x)) return;
      double* out = states(direction, n) + b.place(at.x, at.y, at.z);
      finish<V>([&](int k) { return raw[k]; },
                [&](int k, V value) { ops<V>::store(out + k * box_size, value); },
                point_position<V>(V(double(at.x)), V(double(at.y)), V(double(at.z)), v, n));
    };
    store(d, pair, up);
    store(back, opposite(pair), down);
  }

  /// One vector of a sweep: offsets into a variable, the jumps and both boxes (-1: not needed).
  template <class V>
  struct piece {
    int cell, jump, up, down;
    typename ops<V>::mask up_lanes, down_lanes;
    bool up_whole, down_whole;
  };

  template <class V>
  static constexpr int pieces_of(triple d, piece<V> (&out)[2 * ring_rows]) {
    constexpr int width = ops<V>::width;
    const box up(d), down({-d.x, -d.y, -d.z});
    int n = 0;
    for (int row = 0; row < ring_rows; ++row) {
      for (int col = 0; col < ring_edge; col += width) {
        const int pitch = padded(ring_edge, width);
        const ring_window at = ring_window::of(row * pitch + col, pitch, d, width);
        if (!at.needed) continue;
        const auto whole = [&](const box& b) {
          return at.x + b.ox >= 0 && at.x + b.ox + width <= b.nx;
        };
        out[n++] = {static_cast<int>(ghosted_at(0, 0, at.x, at.y, at.z)),
                    jump_place(at.x, at.y, at.z),
                    up.holds_row(at.y, at.z) ? up.place(at.x, at.y, at.z) : none,
                    down.holds_row(at.y, at.z) ? down.place(at.x, at.y, at.z) : none,
                    up.lanes_from<V>(at.x),
                    down.lanes_from<V>(at.x),
                    whole(up),
                    whole(down)};
      }
    }
    return n;
  }
  static constexpr int none = -1000;  // a first lane may lie at -1

  template <class V, bool Parabolic>
  constexpr void sweep_pair(int pair, int n) const {
    const triple d = direction_vector(pair);
    piece<V> pieces[2 * ring_rows];
    const int size = pieces_of<V>(d, pieces);
    [&]<int... F>(std::integer_sequence<int, F...>) {
      (sweep_field<V, Parabolic, F>(pieces, size, pair, n), ...);
    }(std::make_integer_sequence<int, field_count>());
    finish_box<V>(pair, n);
    finish_box<V>(opposite(pair), n);
  }

  template <class V, bool Parabolic, int Field>
  constexpr void sweep_field(const piece<V>* pieces, int size, int pair, int n) const {
    using o = ops<V>;
    const int step = step_of(direction_vector(pair));
    const double* u = w + index_type{n} * ghosted.block;
    const double* jumps = jump + index_type{n} * jump_block + pair * ring_cells;
    double* up = states(pair, n) + Field * box_size;
    double* down = states(opposite(pair), n) + Field * box_size;
    for (const piece<V>* p = pieces; p != pieces + size; ++p) {
      const profile<V> q =
          field_profile<V, Parabolic, Field>(u + p->cell, step, o::load(jumps + p->jump));
      const auto put = [](double* out, bool whole, const typename o::mask& lanes, V v) {
        if (whole) {
          o::store(out, v);
        } else {
          o::store_where(lanes, out, v);
        }
      };
      if (p->up != none) put(up + p->up, p->up_whole, p->up_lanes, q.upper());
      if (p->down != none) put(down + p->down, p->down_whole, p->down_lanes, q.lower());
    }
  }

  /// From ends of profiles to states, for a whole box in place.
  template <class V>
  constexpr void finish_box(int direction, int n) const {
    const triple v = direction_vector(direction);
    const box b(v);
    const double plane = b.nx * b.ny, row = b.nx;
    for (int k = 0; k < b.nx * b.ny * b.nz; k += ops<V>::width) {
      double* state = states(direction, n) + k;
      const V flat = V(static_cast<double>(k)) + ops<V>::iota();
      const V z = nearest((flat - V(0.5 * (plane - 1.0))) * V(1.0 / plane));
      const V in_plane = flat - z * V(plane);
      const V y = nearest((in_plane - V(0.5 * (row - 1.0))) * V(1.0 / row));
      const V x = in_plane - y * V(row);
      finish<V>([&](int f) { return ops<V>::load(state + f * box_size); },
                [&](int f, V value) { ops<V>::store(state + f * box_size, value); },
                point_position<V>(x - V(double(b.ox)), y - V(double(b.oy)), z - V(double(b.oz)), v,
                                  n));
    }
  }

  /// Position of the point in direction v of the cell (x, y, z) of a sub-grid.
  template <class V>
  constexpr position<V> point_position(V x, V y, V z, triple v, int n) const {
    const triple p = mesh::place(first + n);
    const double half_dx = grid.xscale / grid.cells_per_edge();
    const auto at = [&](V cell, int subgrid, int lean) {
      const int shift = 2 * edge * subgrid + 1 + lean - grid.cells_per_edge();
      return (V(2.0) * cell + V(static_cast<double>(shift))) * V(half_dx);
    };
    return {at(x, p.x, v.x), at(y, p.y, v.y), at(z, p.z, v.z)};
  }

  /// The state at one point from the ends of the profiles: the grid's motion added back,
  /// l = rho (spin + r x v), the kinetic energy, mass fractions scaled to sum 1.
  template <class V, class Get, class Put>
  constexpr void finish(Get get, Put put, const position<V>& r) const {
    using o = ops<V>;
    const V rho = get(field::rho), tau = get(field::tau), internal = get(field::egas);
    const V vx = get(field::sx) - V(omega) * r.y, vy = get(field::sy) + V(omega) * r.x,
            vz = get(field::sz);
    const V total = internal + V(0.5) * rho * ((vx * vx + vy * vy) + vz * vz);
    const V p = V(gamma - 1.0) * thermal_energy(internal, total, tau, gamma);
    put(point::rho, rho);
    put(point::egas, total);
    put(point::tau, tau);
    put(point::pot, get(field::pot) * rho);
    put(point::vx, vx);
    put(point::vy, vy);
    put(point::vz, vz);
    put(point::lx, rho * (get(field::lx) + (r.y * vz - r.z * vy)));
    put(point::ly, rho * (get(field::ly) + (r.z * vx - r.x * vz)));
    put(point::lz, rho * (get(field::lz) + (r.x * vy - r.y * vx)));
    put(point::pressure, p);
    put(point::sound, o::sqrt(V(gamma) * p / rho));
    const V a = get(field::species), b = get(field::species + 1), c = get(field::species + 2),
            d = get(field::species + 3), e = get(field::species + 4);
    const V scale = rho / (((a + b) + (c + d)) + e);
    put(point::species, a * scale);
    put(point::species + 1, b * scale);
    put(point::species + 2, c * scale);
    put(point::species + 3, d * scale);
    put(point::species + 4, e * scale);
  }
};

}  // namespace sedov
