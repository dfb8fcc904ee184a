// SPDX-License-Identifier: Apache-2.0
/// \file
/// Kernel 4 of a stage: states at the 26 points of each cell.
#pragma once

#include <array>
#include <type_traits>
#include <utility>

#include "hydro/discontinuity.hpp"
#include "hydro/gas.hpp"
#include "hydro/profile.hpp"
#include "hydro/scheme.hpp"
#include "mesh/layout.hpp"

namespace stars {

/// Kernel 4: 1-D PPM along the 13 lines through each cell, then the conserved state at both ends.
///
/// Two forms with the same bits. One index for each cell and pair of directions, range (100 rows of
/// ring_edge, 13, count). Or, with `sweep`, one vector for each sub-grid, range (width, 1, count):
/// pair by pair and variable by variable, so that a variable stays in the nearest cache, and then
/// the states, box by box. The call with x = 0 does all the work.
struct reconstruction {
  const double* w;              ///< [count][15][14^3] from pre_reconstruction
  const double* jump;           ///< [count][13][10^3] from discontinuity_2
  double* points;               ///< [count][26][17][736]
  const subgrid_frame* frames;  ///< [count]
  int count;
  int sweep;  ///< 0, or the lanes of the vectors that sweep
  reconstruction_kind kind;
  bool faces_only;  ///< skip diagonals, for the one-point quadrature
  double gamma;
  double omega;

  constexpr extent range() const {
    if (sweep > 0) return {sweep, 1, count};
    return {ring_edge * ring_rows, pair_count, count};
  }
  /// For a kernel without `sweep`.
  template <class Index>
  constexpr void operator()(Index i) const {
    const triple d = direction_vector(i.y);
    const ring_window at = ring_window::of(i.x, ring_edge, d, 1);
    if (!at.needed || skips(d)) return;
    with_constant(kind, [&]<reconstruction_kind How> { one_cell<double, How>(at, i.y, i.z); });
  }
  /// For a kernel with `sweep`.
  template <class V, class Index>
  constexpr void lanes(Index i) const {
    if (i.x == 0) with_constant(kind, [&]<reconstruction_kind How> { sweep_all<V, How>(i.z); });
  }

 private:
  friend struct grouped_flux;
  friend struct slab_reconstruction;
  friend struct line_flux;

  template <class V>
  struct position {
    V x, y, z;
  };
  struct field_traits;

  static constexpr profile_kind kind_of(int f) {
    return f == field::rho || f >= field::species ? profile_kind::steepened
           : f == field::pot                      ? profile_kind::smooth
           : f >= field::lx                       ? profile_kind::linear
           : f >= field::sx                       ? profile_kind::limited
                                                  : profile_kind::positive;
  }
  template <class V, reconstruction_kind How, int Field, class Cells>
  [[gnu::always_inline]] static constexpr profile<V> field_profile(
      Cells u, int step, std::type_identity_t<Cells> slopes, std::type_identity_t<Cells> contact) {
    return profile_of<V, profile_with(How, kind_of(Field))>(u + Field * ghosted.field, step, slopes,
                                                            contact);
  }
  constexpr bool skips(triple d) const {
    return faces_only && d.x * d.x + d.y * d.y + d.z * d.z > 1;
  }
  static constexpr int step_of(triple d) { return d.x + ghosted.row * d.y + ghosted.plane * d.z; }
  static constexpr int jump_place(int x, int y, int z) {
    return (x + 1) + ring_edge * (y + 1) + ring_rows * (z + 1);
  }

  /// The cells whose state in one direction is needed. Along each axis the box starts at -1 if the
  /// direction's component is positive, otherwise at 0.
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
    constexpr int size() const { return nx * ny * nz; }
    template <class V>
    constexpr typename ops<V>::mask lanes_from(int x) const {
      return ops<V>::lanes_between(-(x + ox), nx - (x + ox));
    }
  };
  constexpr double* states(int direction, int n) const {
    return points + index_type{n} * point_block + index_type{direction} * direction_stride;
  }

  template <class V, reconstruction_kind How, int... F>
  static constexpr void find_ends(const double* u, int step, const double* contact,
                                  V (&up)[field_count], V (&down)[field_count],
                                  std::integer_sequence<int, F...>) {
    const auto set = [&](int f, const profile<V>& p) {
      up[f] = p.upper();
      down[f] = p.lower();
    };
    (set(F, field_profile<V, How, F>(u, step, nullptr, contact)), ...);
  }

  template <class V, reconstruction_kind How>
  constexpr void one_cell(const ring_window& at, int pair, int n) const {
    const triple d = direction_vector(pair), back{-d.x, -d.y, -d.z};
    const double* u = w + ghosted_at(n, 0, at.x, at.y, at.z);
    const double* contact =
        jump + index_type{n} * jump_block + pair * ring_cells + jump_place(at.x, at.y, at.z);
    V up[field_count], down[field_count];
    find_ends<V, How>(u, step_of(d), contact, up, down,
                      std::make_integer_sequence<int, field_count>());
    const auto store = [&](triple v, int direction, const V(&raw)[field_count]) {
      const box b(v);
      if (!b.holds_row(at.y, at.z) || !b.lanes_from<V>(at.x)) return;
      double* out = states(direction, n) + b.place(at.x, at.y, at.z);
      finish<V>([&](int k) { return raw[k]; },
                [&](int k, V value) { ops<V>::store(out + k * box_size, value); },
                point_position<V>(V(double(at.x)), V(double(at.y)), V(double(at.z)), v, frames[n]));
    };
    store(d, pair, up);
    store(back, opposite(pair), down);
  }

  /// One vector of a sweep: offsets into a variable, the jumps and both boxes (none: not needed),
  /// and the number of the vector in its row.
  struct piece {
    short cell, jump, up, down, column;  // short, since there are many
  };
  static constexpr short none = -1000;  // not -1: a first lane may be there
  /// Whether a row has two more cells than its whole vectors. Such pairs of cells, of several rows,
  /// then fill one vector.
  template <class V>
  static constexpr bool has_tails = ring_edge % ops<V>::width == 2;
  template <class V>
  static constexpr int columns =
      (has_tails<V> ? ring_edge : padded(ring_edge, ops<V>::width)) / ops<V>::width;
  template <class V>
  struct tail {
    static constexpr int rows = ops<V>::width > 1 ? ops<V>::width / 2 : 1;
    short cell[rows], jump[rows], up[rows], down[rows];  // offsets as in `piece`
  };

  /// The vectors of a pair of directions, and their lanes in its boxes.
  template <class V>
  struct plan {
    piece pieces[ring_rows * columns<V>];
    int size = 0;
    static constexpr int tails = has_tails<V> ? edge * edge / tail<V>::rows : 0;
    tail<V> of_rows[tails > 0 ? tails : 1];
    bool has_rows;          ///< of ring_edge cells, so that there are tails
    bool up_end, down_end;  ///< whether the boxes hold the last cell of these rows
    typename ops<V>::mask up[columns<V>], down[columns<V>];
    bool up_whole[columns<V>], down_whole[columns<V>];

    [[gnu::flatten, gnu::noinline]] constexpr explicit plan(triple d)
        : has_rows(d.x != 0), up_end(d.x < 0), down_end(d.x > 0) {
      constexpr int width = ops<V>::width;
      const box upper(d), lower({-d.x, -d.y, -d.z});
      for (int k = 0; k < tails * tail<V>::rows; ++k) set_tail(upper, lower, k);
      for (int z = -1; z <= edge; ++z) {
        for (int y = -1; y <= edge; ++y) {
          for (int c = 0; c < columns<V>; ++c) {
            const ring_window at = ring_window::of_row(c * width, y, z, d, width);
            if (!at.needed) continue;
            const bool ghost_row = y < 0 || y >= edge || z < 0 || z >= edge;
            if (!ghost_row) set_lanes(upper, lower, c, at.x);
            pieces[size++] = {static_cast<short>(ghosted_at(0, 0, at.x, y, z)),
                              static_cast<short>(jump_place(at.x, y, z)),
                              place_in(upper, at.x, y, z), place_in(lower, at.x, y, z),
                              ghost_row ? whole_column : static_cast<short>(c)};
          }
        }
      }
    }
    constexpr void set_tail(const box& upper, const box& lower, int row) {
      const int x = edge - 1, y = row % edge, z = row / edge, k = row % tail<V>::rows;
      tail<V>& t = of_rows[row / tail<V>::rows];
      t.cell[k] = static_cast<short>(ghosted_at(0, 0, x, y, z));
      t.jump[k] = static_cast<short>(jump_place(x, y, z));
      t.up[k] = static_cast<short>(upper.place(x, y, z));
      t.down[k] = static_cast<short>(lower.place(x, y, z));
    }
    static constexpr short place_in(const box& b, int x, int y, int z) {
      return b.holds_row(y, z) ? static_cast<short>(b.place(x, y, z)) : none;
    }
    constexpr void set_lanes(const box& upper, const box& lower, int c, int x) {
      const auto whole = [x](const box& b) {
        return x + b.ox >= 0 && x + b.ox + ops<V>::width <= b.nx;
      };
      up[c] = upper.template lanes_from<V>(x);
      down[c] = lower.template lanes_from<V>(x);
      up_whole[c] = whole(upper);
      down_whole[c] = whole(lower);
    }
  };
  static constexpr short whole_column = -1;  ///< of rows that need only the interior columns

  /// Returns the plan of a pair of directions, made at first use.
  template <class V>
  static const plan<V>& plan_of(int pair) {
    static const auto all = []<int... P>(std::integer_sequence<int, P...>) {
      return std::array<plan<V>, pair_count>{plan<V>(direction_vector(P))...};
    }
    (std::make_integer_sequence<int, pair_count>());
    return all[static_cast<std::size_t>(pair)];
  }

  template <class V, reconstruction_kind How>
  constexpr void sweep_all(int n) const {
    const field_traits traits = traits_of<V>(n);
    for (int pair = 0; pair < pair_count; ++pair) {
      if (skips(direction_vector(pair))) continue;
      sweep_pair<V, How>(traits, pair, n, jump + index_type{n} * jump_block + pair * ring_cells,
                         states(pair, n), states(opposite(pair), n));
    }
  }

  /// Computes the pressure jumps of a pair of directions where its profiles need them.
  template <class V>
  [[gnu::flatten, gnu::noinline]] constexpr void find_jumps(const discontinuity_2& from, int pair,
                                                            int n, double* jumps) const {
    const plan<V>& all = plan_of<V>(pair);
    const int step = step_of(direction_vector(pair));
    const double* p = from.pressure + index_type{n} * pressure_block;
    for (const piece* k = all.pieces; k != all.pieces + all.size; ++k)
      ops<V>::store(jumps + k->jump, from.value<V>(p + k->cell, step));
    if constexpr (has_tails<V>)
      if (all.has_rows)
        for (const tail<V>& t : all.of_rows)
          ops<V>::store_pairs(jumps, t.jump, true, from.value<V>(row_pairs{p, t.cell}, step));
  }

  /// Computes one pair of directions: the states in direction `pair` into `up`, in the opposite
  /// direction into `down`. `jumps`: of this pair.
  template <class V, reconstruction_kind How>
  constexpr void sweep_pair(const field_traits& traits, int pair, int n, const double* jumps,
                            double* up, double* down) const {
    if (traits.all_uniform()) {
      finish_box<V, true>(traits, pair, n, up);
      finish_box<V, true>(traits, opposite(pair), n, down);
    } else {
      sweep_fields<V, How>(traits, plan_of<V>(pair), pair, n, jumps, up, down,
                           std::make_integer_sequence<int, field_count>());
      finish_box<V, false>(traits, pair, n, up);
      finish_box<V, false>(traits, opposite(pair), n, down);
    }
  }

  /// Properties of a variable that hold in a whole sub-grid, ghosts included.
  struct field_traits {
    bool uniform[field_count] = {};
    bool absent[field_count] = {};  ///< zero, as is its density: not stored
    /// Returns whether pressure jumps are needed.
    [[nodiscard]] constexpr bool any_steepened_varies() const {
      for (int f = 0; f < field_count; ++f)
        if (kind_of(f) == profile_kind::steepened && !uniform[f]) return true;
      return false;
    }
    [[nodiscard]] constexpr bool all_uniform() const {
      for (const bool same : uniform)
        if (!same) return false;
      return true;
    }
  };
  template <class V>
  constexpr field_traits traits_of(int n) const {
    field_traits t;
    for (int f = 0; f < field_count; ++f)
      t.uniform[f] = uniform<V>(w + ghosted_at(n, f, -3, -3, -3));
    return t;
  }

  template <class V, reconstruction_kind How, int... F>
  constexpr void sweep_fields(const field_traits& traits, const plan<V>& p, int pair, int n,
                              const double* jumps, double* up, double* down,
                              std::integer_sequence<int, F...>) const {
    const auto one = [&]<int Field>(std::integral_constant<int, Field>) {
      if (!traits.uniform[Field])
        sweep_field<V, How, Field>(p, pair, n, jumps, up + Field * box_size,
                                   down + Field * box_size);
    };
    (one(std::integral_constant<int, F>()), ...);
  }
  /// Returns the ends in one direction of the profiles of a uniform variable.
  template <class V>
  constexpr V uniform_end(int f, int direction, int n) const {
    const V centre = V(w[index_type{n} * ghosted.block + f * ghosted.field]);
    return direction < pair_count ? centre + V(0.0) : centre - V(0.0);
  }

  template <class V, reconstruction_kind How, int Field>
  [[gnu::flatten, gnu::noinline]] constexpr void sweep_field(const plan<V>& all, int pair, int n,
                                                             const double* jumps, double* up,
                                                             double* down) const {
    using o = ops<V>;
    const triple d = direction_vector(pair);
    const int step = step_of(d);
    const double* u = w + index_type{n} * ghosted.block;
    double slopes[ghosted_cells];
    constexpr bool need_slopes = uses_slopes(profile_with(How, kind_of(Field)));
    if constexpr (need_slopes) find_slopes<V>(u + Field * ghosted.field, d, slopes);
    const auto put = [](double* out, bool whole, const auto& lanes, int column, V v) {
      if (whole) {
        o::store(out, v);
      } else {
        o::store_where(lanes[column], out, v);
      }
    };
    for (const piece* p = all.pieces; p != all.pieces + all.size; ++p) {
      const profile<V> q = field_profile<V, How, Field>(
          u + p->cell, step, need_slopes ? slopes + p->cell : nullptr, jumps + p->jump);
      const int c = p->column;
      const bool whole = c == whole_column;
      if (p->up != none) put(up + p->up, whole || all.up_whole[c], all.up, c, q.upper());
      if (p->down != none) put(down + p->down, whole || all.down_whole[c], all.down, c, q.lower());
    }
    if constexpr (has_tails<V>)
      if (all.has_rows)
        for (const tail<V>& t : all.of_rows) {
          const profile<V> q = field_profile<V, How, Field>(
              row_pairs{u, t.cell}, step, {need_slopes ? slopes : nullptr, t.cell},
              {jumps, t.jump});
          o::store_pairs(up, t.up, all.up_end, q.upper());
          o::store_pairs(down, t.down, all.down_end, q.lower());
        }
  }

  /// Returns whether a variable has one value everywhere, as most species of most flows have.
  template <class V>
  [[gnu::flatten]] static constexpr bool uniform(const double* u) {
    const V first = V(u[0]);
    for (int k = 0; k < ghosted_cells; k += ops<V>::width) {
      if (ops<V>::any(ops<V>::load(u + k) != first)) return false;
    }
    return true;
  }

  /// Computes the half slopes of all cells that a profile along d needs, each once. If rows are
  /// needed nearly completely, they are processed plane by plane in one run.
  template <class V>
  [[gnu::flatten, gnu::noinline]] static constexpr void find_slopes(const double* u, triple d,
                                                                    double* slopes) {
    const int step = step_of(d);
    const int y0 = d.y != 0 ? -2 : 0, y1 = d.y != 0 ? edge + 2 : edge;
    const int z0 = d.z != 0 ? -2 : 0, z1 = d.z != 0 ? edge + 2 : edge;
    const auto run = [&](int from, int to) {
      for (int k = from; k < to; k += ops<V>::width) {
        const int at = k + ops<V>::width <= to ? k : to - ops<V>::width;
        const V here = ops<V>::load(u + at);
        ops<V>::store(slopes + at, half_slope(here - ops<V>::load(u + at - step),
                                              ops<V>::load(u + at + step) - here));
      }
    };
    const auto at = [](int x, int y, int z) { return static_cast<int>(ghosted_at(0, 0, x, y, z)); };
    for (int z = z0; z < z1; ++z) {
      if (d.x != 0) {
        run(at(-2, y0, z), at(edge + 2, y1 - 1, z));
      } else {
        for (int y = y0; y < y1; ++y) run(at(0, y, z), at(edge, y, z));
      }
    }
  }

  /// Converts the ends of profiles to states, for the first `cells` of a box in place. The ends of
  /// uniform variables are not in the box. If all are `Uniform`, the compiler moves what does not
  /// depend on the position out of the loop.
  template <class V, bool Uniform>
  [[gnu::flatten, gnu::noinline]] constexpr void finish_box(const field_traits& traits,
                                                            int direction, int n,
                                                            double* box_states,
                                                            int cells = box_size) const {
    const triple v = direction_vector(direction);
    const box b(v);
    const double plane = b.nx * b.ny, row = b.nx;
    const subgrid_frame frame = frames[n];
    V ends[field_count];
    for (int f = 0; f < field_count; ++f)
      ends[f] = traits.absent[f] ? V(0.0) : uniform_end<V>(f, direction, n);
    const int last = cells < b.size() ? cells : b.size();
    for (int k = 0; k < last; k += ops<V>::width) {
      double* state = box_states + k;
      const auto get = [&](int f) {
        return Uniform || traits.uniform[f] ? ends[f] : ops<V>::load(state + f * box_size);
      };
      const V flat = V(static_cast<double>(k)) + ops<V>::iota();
      const V z = nearest((flat - V(0.5 * (plane - 1.0))) * V(1.0 / plane));
      const V in_plane = flat - z * V(plane);
      const V y = nearest((in_plane - V(0.5 * (row - 1.0))) * V(1.0 / row));
      const V x = in_plane - y * V(row);
      finish<V>(
          get,
          [&](int f, V value) {
            if (f >= field_count || !traits.absent[f]) ops<V>::store(state + f * box_size, value);
          },
          point_position<V>(x - V(double(b.ox)), y - V(double(b.oy)), z - V(double(b.oz)), v,
                            frame));
    }
  }

  /// Returns the position of the point in direction v of the cell (x, y, z) of a sub-grid.
  template <class V>
  static constexpr position<V> point_position(V x, V y, V z, triple v, const subgrid_frame& in) {
    const auto at = [&in](V cell, int lean, int axis) {
      return (V(2.0) * cell + V(in.lower[axis] + (1.0 + lean))) * V(in.half_dx);
    };
    return {at(x, v.x, 0), at(y, v.y, 1), at(z, v.z, 2)};
  }

  /// Computes the state at a point from the ends of the profiles: the grid's motion is added back,
  /// l = rho (spin + r x v), the kinetic energy is added, mass fractions are scaled to sum 1.
  template <class V, class Get, class Put>
  constexpr void finish(Get get, Put put, const position<V>& r) const {
    finish_flow<V>(get, put, r);
    finish_species<V>(get, put, get(field::rho));
  }
  template <class V, class Get, class Put>
  constexpr void finish_flow(Get get, Put put, const position<V>& r) const {
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
  }
  template <class V, class Get, class Put>
  static constexpr void finish_species(Get get, Put put, V rho) {
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

}  // namespace stars
