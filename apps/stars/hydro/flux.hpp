// SPDX-License-Identifier: Apache-2.0
/// \file
/// Kernel 5 of a stage: fluxes through the faces.
#pragma once

#include <type_traits>
#include <utility>

#include "hydro/scheme.hpp"
#include "kernel/lanes.hpp"
#include "kernel/unrolled.hpp"
#include "mesh/layout.hpp"

namespace stars {

/// The points of a face, in units of half a cell from its centre along its two axes: the centre,
/// four edge midpoints, four vertices. Packed in two bits each, so that no table is indexed at run
/// time.
struct face_point {
  int u, v;
  static constexpr int count = 9;
  static constexpr face_point of(int q) {
    return {static_cast<int>(packed_u >> (2 * q) & 3u) - 1,
            static_cast<int>(packed_v >> (2 * q) & 3u) - 1};
  }

 private:
  static constexpr unsigned packed_u =
      1u | 2u << 2 | 0u << 4 | 1u << 6 | 1u << 8 | 2u << 10 | 0u << 12 | 2u << 14 | 0u << 16;
  static constexpr unsigned packed_v =
      1u | 1u << 2 | 1u << 4 | 2u << 6 | 0u << 8 | 2u << 10 | 0u << 12 | 0u << 14 | 2u << 16;
};

/// Kernel 5: central-upwind (Kurganov-Tadmor) flux at the points of each face, summed with
/// Simpson's weights, and the largest signal speed of each face.
///
/// Two forms with the same bits. One index for each face, range (576, 3 axes, count). Or, with
/// `sweep`, one vector for each sub-grid, range (width, 1, count): plane by plane, so that a small
/// cache suffices for all three axes, and within a plane point by point, so that states are read in
/// long runs. The call with x = 0 does all the work. Vectors may have up to eight lanes.
struct flux {
  const double* points;         ///< [count][26][17][736] from reconstruction
  double* fluxes;               ///< [count][3][15][576]
  double* speeds;               ///< [count][3][576]
  const subgrid_frame* frames;  ///< [count]
  int count;
  int quadrature;    ///< number of the nine points that are used
  double weight[3];  ///< of the centre, an edge midpoint, a vertex
  double omega;
  int sweep;  ///< 0, or the lanes of the vectors that sweep

  constexpr extent range() const {
    return sweep > 0 ? extent{sweep, 1, count} : extent{face_count, 3, count};
  }
  /// For a kernel without `sweep`.
  template <class Index>
  constexpr void operator()(Index i) const {
    if (i.y == 0) {
      run<0>(i.x, i.z);
    } else if (i.y == 1) {
      run<1>(i.x, i.z);
    } else {
      run<2>(i.x, i.z);
    }
  }
  /// For a kernel with `sweep`.
  template <class V, class Index>
  constexpr void lanes(Index i) const {
    if (i.x == 0) sweep_all<V>(i.z);
  }

 private:
  friend struct grouped_flux;
  friend struct line_flux;

  /// The position of a face in its sub-grid: the face's index along its axis, cell indices along
  /// the other two.
  template <class V>
  struct place {
    int x, y, z;   ///< of the first lane (y = 0 for the x axis: see flat)
    int flat;      ///< x axis only: lanes continue through the faces of a plane
    V fx, fy, fz;  ///< for each lane
  };

  template <class V, int Axis>
  static constexpr place<V> place_of(int flat) {
    const V lane = ops<V>::iota();
    if constexpr (Axis == 0) {
      constexpr int faces = edge + 1, plane = faces * edge;
      const int z = flat / plane, in_plane = flat % plane;
      const V p = V(static_cast<double>(in_plane)) + lane;
      const V row = nearest((p - V(0.5 * edge)) * V(1.0 / faces));
      return {0, 0, z, in_plane, p - row * V(double(faces)), row, V(static_cast<double>(z))};
    } else {
      constexpr int rows = Axis == 1 ? edge + 1 : edge;
      const int x = flat % edge, y = flat / edge % rows, z = flat / (edge * rows);
      return {x,
              y,
              z,
              0,
              V(static_cast<double>(x)) + lane,
              V(static_cast<double>(y)),
              V(static_cast<double>(z))};
    }
  }

  /// Returns the offset of the states on both sides of the face in their boxes, which have equal
  /// shapes.
  template <class V, int Axis>
  static constexpr int box_offset(const place<V>& f, triple d) {
    const int nx = edge + (d.x != 0), ny = edge + (d.y != 0);
    if constexpr (Axis == 0) {
      return f.flat + nx * ((d.y > 0) + ny * (f.z + (d.z > 0)));
    } else if constexpr (Axis == 1) {
      return f.x + (d.x > 0) + nx * (f.y + ny * (f.z + (d.z > 0)));
    } else {
      return f.x + (d.x > 0) + nx * (f.y + (d.y > 0) + ny * f.z);
    }
  }

  // Fields that act on the flow, and fields that are only carried along, whose numbers in the point
  // states are the same. Functions, since nvcc silently drops code that reads a constant array of a
  // class.
  static constexpr int dynamic_count = 8, carried_count = 7;
  static constexpr int dynamic_field(int i) {
    return i == 0 ? field::rho : i == 1 ? field::egas : field::sx + (i - 2);
  }
  static constexpr int carried_field(int i) {
    return i == 0 ? field::tau : i == 1 ? field::pot : field::species + (i - 2);
  }

  template <int Axis>
  static constexpr triple with_axis(face_point q, int along) {
    return Axis == 0   ? triple{along, q.u, q.v}
           : Axis == 1 ? triple{q.u, along, q.v}
                       : triple{q.u, q.v, along};
  }

  template <class V>
  struct position {
    V x, y, z;
  };
  /// A state in memory with a distance of `stride` between its variables.
  template <class V>
  struct stored {
    const double* first;
    int stride;
    constexpr V operator()(int k) const { return ops<V>::load(first + k * stride); }
  };

  /// The contributions of the states on both sides of a face at one point.
  template <class V>
  struct shares {
    V left, right;                    ///< factor of an advected quantity
    V pressure_left, pressure_right;  ///< shares of the pressures
  };

  template <class V>
  [[gnu::flatten]] constexpr void sweep_all(int n) const {
    for (int z = 0; z <= edge; ++z) {
      sweep_plane<V, 0>(z, n);
      sweep_plane<V, 1>(z, n);
      sweep_plane<V, 2>(z, n);
    }
  }
  /// Sums a few points at a time, whose states are read in long runs.
  template <class V, int Axis>
  constexpr void sweep_plane(int z, int n) const {
    const auto in = [this, n](triple d, int at) { return stored<V>{states(d, n) + at, box_size}; };
    const auto none = [](int) { return false; };
    add_plane<V, Axis, 0, 1>(z, n, in, none);
    if (quadrature == 1) return;
    add_plane<V, Axis, 1, 3>(z, n, in, none);
    add_plane<V, Axis, 3, 5>(z, n, in, none);
    add_plane<V, Axis, 5, 9>(z, n, in, none);
  }

  /// Adds points for the faces along an axis in plane z of the cells; along z, for the faces below
  /// it.
  template <class V, int Axis, int First, int End, class States, class Absent>
  [[gnu::always_inline]] constexpr void add_plane(int z, int n, States in, Absent absent) const {
    if (Axis != 2 && z == edge) return;
    constexpr int faces = Axis == 2 ? edge * edge : (edge + 1) * edge;
    const subgrid_frame frame = frames[n];
    for (int k = 0; k < faces; k += ops<V>::width)
      add_points<V, Axis, First, End>(z * faces + k, n, frame, in, absent);
  }

  /// Computes one face, point by point.
  template <int Axis>
  constexpr void run(int face, int n) const {
    const place<double> f = place_of<double, Axis>(face);
    const subgrid_frame frame = frames[n];
    double sum[field_count] = {}, fastest = 0.0;
    for (int q = 0; q < quadrature; ++q) {
      const triple d = with_axis<Axis>(face_point::of(q), 1);
      const int at = box_offset<double, Axis>(f, d);
      const stored<double> left{states(d, n) + at, box_size};
      const stored<double> right{states(with_axis<Axis>(face_point::of(q), -1), n) + at, box_size};
      add_point<Axis>(left, right, weight_of(q), points_of<double, Axis>(f, d, frame), sum,
                      fastest);
    }
    store<Axis>(face, n, sum, fastest);
  }
  template <int Axis>
  constexpr void add_point(const stored<double>& left, const stored<double>& right, double w,
                           const position<double>& where, double (&sum)[field_count],
                           double& fastest) const {
    const auto part = shares_of<double, Axis>(left, right, w, where, fastest);
    add_dynamic<double, Axis>(left, right, part, where, sum);
    for (int i = 0; i < carried_count; ++i)
      add_carried(left, right, part, carried_field(i), sum[carried_field(i)]);
  }
  template <int Axis>
  constexpr void store(int face, int n, const double (&sum)[field_count], double fastest) const {
    double* out = fluxes + index_type{n} * flux_block + Axis * field_count * face_count + face;
    for (int k = 0; k < field_count; ++k) out[k * face_count] = sum[k];
    speeds[index_type{n} * speed_block + Axis * face_count + face] = fastest;
  }

  /// Adds the points from First until End to the sums of the points before them, for the faces of
  /// one vector. `states_in(d, at)` returns the states in a direction from place `at` of its box
  /// on; `absent(k)` returns whether a carried field is zero everywhere. All shares are computed
  /// before all sums, so that their chains of dependent operations, each with a division, overlap.
  template <class V, int Axis, int First, int End, class States, class Absent>
  [[gnu::always_inline]] constexpr void add_points(int face, int n, const subgrid_frame& frame,
                                                   States states_in, Absent absent) const {
    using o = ops<V>;
    double* out = fluxes + index_type{n} * flux_block + Axis * field_count * face_count + face;
    double* speed = speeds + index_type{n} * speed_block + Axis * face_count + face;
    const place<V> f = place_of<V, Axis>(face);
    stored<V> left[End], right[End];
    shares<V> part[End];
    V fastest = First == 0 ? V(0.0) : o::load(speed);
    unrolled<First, End>([&](auto q) __attribute__((always_inline)) {
      const triple d = with_axis<Axis>(face_point::of(q), 1);
      const int at = box_offset<V, Axis>(f, d);
      left[q] = states_in(d, at);
      right[q] = states_in(with_axis<Axis>(face_point::of(q), -1), at);
      part[q] = shares_of<V, Axis>(left[q], right[q], weight_of(q), points_of<V, Axis>(f, d, frame),
                                   fastest);
    });
    o::store(speed, fastest);
    V sum[field_count];
    const auto begin = [&](int k) { sum[k] = First == 0 ? V(0.0) : o::load(out + k * face_count); };
    const auto end = [&](int k) { o::store(out + k * face_count, sum[k]); };
    for (int i = 0; i < dynamic_count; ++i) begin(dynamic_field(i));
    unrolled<First, End>([&](auto q) __attribute__((always_inline)) {
      const triple d = with_axis<Axis>(face_point::of(q), 1);
      add_dynamic<V, Axis>(left[q], right[q], part[q], points_of<V, Axis>(f, d, frame), sum);
    });
    for (int i = 0; i < dynamic_count; ++i) end(dynamic_field(i));
    for (int i = 0; i < carried_count; ++i) {
      const int k = carried_field(i);
      if (First != 0 && absent(k)) continue;
      begin(k);
      if (!absent(k))
        unrolled<First, End>([&](auto q) __attribute__((always_inline)) {
          add_carried(left[q], right[q], part[q], k, sum[k]);
        });
      end(k);
    }
  }

  /// As add_plane for all planes, where all cells have the same state in each direction and the
  /// grid does not rotate: then only the torque of the pressure differs between the faces of an
  /// axis. The other sums are computed for the first vector only, from where `spread` copies them.
  template <class V, int Axis, int First, int End, class States, class Absent>
  [[gnu::always_inline]] constexpr void add_still(int n, States in, Absent absent) const {
    using o = ops<V>;
    const subgrid_frame frame = frames[n];
    add_points<V, Axis, First, End>(0, n, frame, in, absent);
    V pressure[End], spin[End][3];
    unrolled<First, End>([&](auto q) __attribute__((always_inline)) {
      const stored<V> left = in(with_axis<Axis>(face_point::of(q), 1), 0),
                      right = in(with_axis<Axis>(face_point::of(q), -1), 0);
      const position<V> anywhere = {V(0.0), V(0.0), V(0.0)};  // only rotation depends on it
      V fastest = V(0.0);
      const auto part = shares_of<V, Axis>(left, right, weight_of(q), anywhere, fastest);
      pressure[q] = part.pressure_left + part.pressure_right;
      for (int a = 0; a < 3; ++a)
        spin[q][a] = part.left * left(point::lx + a) + part.right * right(point::lx + a);
    });
    double* out = fluxes + index_type{n} * flux_block + Axis * field_count * face_count;
    for (int face = o::width; face < face_count; face += o::width) {
      const place<V> f = place_of<V, Axis>(face);
      V sum[field_count];
      for (int k = field::lx; k <= field::lz; ++k)
        sum[k] = First == 0 ? V(0.0) : o::load(out + k * face_count + face);
      unrolled<First, End>([&](auto q) __attribute__((always_inline)) {
        add_torque<V, Axis>([&](int k) { return spin[q][k - point::lx]; }, pressure[q],
                            points_of<V, Axis>(f, with_axis<Axis>(face_point::of(q), 1), frame),
                            sum);
      });
      for (int k = field::lx; k <= field::lz; ++k) o::store(out + k * face_count + face, sum[k]);
    }
  }
  /// Copies the sums of the first face of each axis to its other faces, except those of the angular
  /// momentum. Called after `add_still` of all groups.
  template <class V>
  constexpr void spread(int n) const {
    const auto fill = [](double* first) {
      const V value = V(*first);
      for (int face = 0; face < face_count; face += ops<V>::width)
        ops<V>::store(first + face, value);
    };
    for (int axis = 0; axis < 3; ++axis) {
      double* of_axis = fluxes + index_type{n} * flux_block + axis * field_count * face_count;
      for (int k = 0; k < field_count; ++k)
        if (k < field::lx || k > field::lz) fill(of_axis + k * face_count);
      fill(speeds + index_type{n} * speed_block + axis * face_count);
    }
  }

  constexpr const double* states(triple d, int n) const {
    return points + index_type{n} * point_block + index_type{direction_index(d)} * direction_stride;
  }
  constexpr double weight_of(int q) const {
    return q == 0 ? weight[0] : q < 5 ? weight[1] : weight[2];
  }

  /// Returns the position of the point in direction d of a cell on the face's lower side.
  template <class V, int Axis>
  static constexpr position<V> points_of(const place<V>& f, triple d, const subgrid_frame& in) {
    const auto at = [&in](V cell, int component, int axis) {
      const double half = axis == Axis ? 0.0 : component + 1.0;
      return ((V(2.0) * cell + V(half)) + V(in.lower[axis])) * V(in.half_dx);
    };
    return {at(f.fx, d.x, 0), at(f.fy, d.y, 1), at(f.fz, d.z, 2)};
  }

  /// F = [a+ F_L - a- F_R + a+ a- (U_R - U_L)] / (a+ - a-), grouped by the two states:
  /// each advected quantity contributes left * U_L + right * U_R.
  template <class V, int Axis>
  [[gnu::always_inline]] constexpr shares<V> shares_of(const stored<V>& l, const stored<V>& r,
                                                       double w, const position<V>& at,
                                                       V& fastest) const {
    using o = ops<V>;
    const V zero = V(0.0);
    const V grid_speed = Axis == 0 ? V(-omega) * at.y : Axis == 1 ? V(omega) * at.x : zero;
    const V ul = l(point::vx + Axis) - grid_speed, ur = r(point::vx + Axis) - grid_speed;
    const V cl = l(point::sound), cr = r(point::sound);
    const V ap = o::max(o::max(ul + cl, ur + cr), zero);
    const V am = o::min(o::min(ul - cl, ur - cr), zero);
    const V down = zero - am;
    fastest = o::max(fastest, o::max(ap, down));
    const V width = ap - am;
    const auto spread = width > zero;
    const V inverse = V(w) / o::select(spread, width, V(1.0));
    const V share_l = o::select(spread, ap * inverse, V(0.5 * w));
    const V share_r = o::select(spread, down * inverse, V(0.5 * w));
    // Two sums, not a sum and a difference: for these GCC 12 makes a fused instruction at -O2 even
    // with contraction off.
    const V exchange = (ap * down) * inverse;
    return {share_l * ul + exchange, share_r * ur + (zero - exchange), share_l * l(point::pressure),
            share_r * r(point::pressure)};
  }

  template <class V>
  static constexpr void add_carried(const stored<V>& l, const stored<V>& r, const shares<V>& part,
                                    int k, V& sum) {
    sum = sum + (part.left * l(k) + part.right * r(k));
  }

  template <class V, int Axis>
  [[gnu::always_inline]] constexpr void add_dynamic(const stored<V>& l, const stored<V>& r,
                                                    const shares<V>& part, const position<V>& at,
                                                    V (&sum)[field_count]) const {
    const V vl = l(point::vx + Axis), vr = r(point::vx + Axis);
    const V p = part.pressure_left + part.pressure_right;
    const V mass_l = part.left * l(point::rho), mass_r = part.right * r(point::rho);
    const auto advect = [&](int k) { return part.left * l(k) + part.right * r(k); };
    const auto carry = [&](int k) { return mass_l * l(k) + mass_r * r(k); };
    const auto add = [&sum](int k, const V& v) { sum[k] = sum[k] + v; };
    add(field::rho, mass_l + mass_r);
    add(field::egas, advect(point::egas) + (part.pressure_left * vl + part.pressure_right * vr));
    add(field::sx, Axis == 0 ? carry(point::vx) + p : carry(point::vx));
    add(field::sy, Axis == 1 ? carry(point::vy) + p : carry(point::vy));
    add(field::sz, Axis == 2 ? carry(point::vz) + p : carry(point::vz));
    add_torque<V, Axis>(advect, p, at, sum);
  }
  /// Adds the advected angular momentum and r x (p n), the torque of the pressure on the face.
  template <class V, int Axis, class Advect>
  [[gnu::always_inline]] static constexpr void add_torque(Advect advect, const V& p,
                                                          const position<V>& at,
                                                          V (&sum)[field_count]) {
    const V zero = V(0.0);
    const auto add = [&sum](int k, const V& v) { sum[k] = sum[k] + v; };
    const V tx = Axis == 1 ? zero - at.z * p : at.y * p;
    const V ty = Axis == 2 ? zero - at.x * p : at.z * p;
    const V tz = Axis == 0 ? zero - at.y * p : at.x * p;
    add(field::lx, Axis == 0 ? advect(point::lx) : advect(point::lx) + tx);
    add(field::ly, Axis == 1 ? advect(point::ly) : advect(point::ly) + ty);
    add(field::lz, Axis == 2 ? advect(point::lz) : advect(point::lz) + tz);
  }
};

}  // namespace stars
