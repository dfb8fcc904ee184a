// SPDX-License-Identifier: Apache-2.0
/// \file
/// Kernel 5 of a stage: fluxes through the faces.
#pragma once

#include "lanes.hpp"
#include "layout.hpp"
#include "scheme.hpp"

namespace sedov {

/// The points of a face, in units of half a cell from its centre along its two axes: the centre,
/// four edge midpoints, four vertices. Two bits each, so that no table is indexed at run time.
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
/// Simpson's weights, and the largest signal speed of each face. Range (576, 3 axes, count), or
/// (1728, 1, count) plane by plane, which lets a small cache serve all three axes. Vectors may
/// have up to eight lanes.
struct flux {
  const double* points;  ///< [count][26][17][736] from reconstruction
  double* fluxes;        ///< [count][3][15][576]
  double* speeds;        ///< [count][3][576]
  mesh grid;
  int first;
  int count;
  int quadrature;    ///< how many of the nine points are used
  double weight[3];  ///< of the centre, an edge midpoint, a vertex
  double omega;
  bool by_plane;

  constexpr extent range() const {
    return by_plane ? extent{3 * face_count, 1, count} : extent{face_count, 3, count};
  }
  template <class Index>
  constexpr void operator()(Index i) const {
    choose<double>(i.x, i.y, i.z);
  }
  template <class V, class Index>
  [[gnu::flatten]] constexpr void lanes(Index i) const {
    choose<V>(i.x, i.y, i.z);
  }

 private:
  /// The face's place in its sub-grid: its own index along the axis, cell indices along others.
  template <class V>
  struct place {
    int x, y, z;   ///< of the first lane (y = 0 for the x axis: see flat)
    int flat;      ///< x axis only: lanes run on through the 9 x 8 faces of a plane
    V fx, fy, fz;  ///< per lane
  };

  template <class V>
  constexpr void choose(int flat, int axis, int n) const {
    if (by_plane) {  // 72 x faces, 72 y faces and 64 z faces, eight times; then the upper z faces
      constexpr int x_faces = 72, z_faces = 64, plane_faces = 2 * x_faces + z_faces;
      const int z = flat / plane_faces;
      const int k = flat - z * plane_faces + (z == edge ? 2 * x_faces : 0);
      axis = k / x_faces;
      flat = axis < 2 ? z * x_faces + k - axis * x_faces : z * z_faces + k - 2 * x_faces;
    }
    if (axis == 0) {
      run<V, 0>(flat, n);
    } else if (axis == 1) {
      run<V, 1>(flat, n);
    } else {
      run<V, 2>(flat, n);
    }
  }

  template <class V, int Axis>
  static constexpr place<V> place_of(int flat) {
    const V lane = ops<V>::iota();
    if constexpr (Axis == 0) {
      const int z = flat / 72, in_plane = flat % 72;
      const V p = V(static_cast<double>(in_plane)) + lane;
      const V row = nearest((p - V(4.0)) * V(1.0 / 9.0));
      return {0, 0, z, in_plane, p - row * V(9.0), row, V(static_cast<double>(z))};
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

  /// Where the states on both sides of the face lie within their boxes, which have one shape.
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

  template <int Axis>
  static constexpr triple with_axis(face_point q, int along) {
    return Axis == 0   ? triple{along, q.u, q.v}
           : Axis == 1 ? triple{q.u, along, q.v}
                       : triple{q.u, q.v, along};
  }

  /// Coordinate of a point from its half-cell number inside the sub-grid.
  template <class V>
  constexpr V coordinate(V half, int subgrid) const {
    const int shift = 2 * edge * subgrid - grid.cells_per_edge();
    return (half + V(static_cast<double>(shift))) * V(grid.xscale / grid.cells_per_edge());
  }

  template <class V, int Axis>
  constexpr void run(int flat, int n) const {
    using o = ops<V>;
    const place<V> f = place_of<V, Axis>(flat);
    const triple s = mesh::place(first + n);
    const double* block = points + index_type{n} * point_block;
    V sum[field_count];
    for (int k = 0; k < field_count; ++k) sum[k] = V(0.0);
    V fastest = V(0.0);
    for (int q = 0; q < quadrature; ++q) {
      const face_point at = face_point::of(q);
      const triple d = with_axis<Axis>(at, 1);
      const int in_box = box_offset<V, Axis>(f, d);
      const double* left = block + direction_index(d) * direction_stride + in_box;
      const double* right =
          block + direction_index(with_axis<Axis>(at, -1)) * direction_stride + in_box;
      const V x = coordinate(V(2.0) * f.fx + V(Axis == 0 ? 0.0 : d.x + 1.0), s.x);
      const V y = coordinate(V(2.0) * f.fy + V(Axis == 1 ? 0.0 : d.y + 1.0), s.y);
      const V z = coordinate(V(2.0) * f.fz + V(Axis == 2 ? 0.0 : d.z + 1.0), s.z);
      const double w = q == 0 ? weight[0] : q < 5 ? weight[1] : weight[2];
      add_point<V, Axis>(left, right, w, x, y, z, sum, fastest);
    }
    double* out = fluxes + index_type{n} * flux_block + Axis * field_count * face_count + flat;
    for (int k = 0; k < field_count; ++k) o::store(out + k * face_count, sum[k]);
    o::store(speeds + index_type{n} * speed_block + Axis * face_count + flat, fastest);
  }

  /// F = [a+ F_L - a- F_R + a+ a- (U_R - U_L)] / (a+ - a-), grouped by the two states:
  /// each advected quantity contributes from_left * U_L + from_right * U_R.
  template <class V, int Axis>
  constexpr void add_point(const double* left, const double* right, double w, V x, V y, V z,
                           V (&sum)[field_count], V& fastest) const {
    using o = ops<V>;
    const auto l = [left](int k) { return o::load(left + k * box_size); };
    const auto r = [right](int k) { return o::load(right + k * box_size); };
    const V zero = V(0.0);
    const V grid_speed = Axis == 0 ? V(-omega) * y : Axis == 1 ? V(omega) * x : zero;
    const V vl = l(point::vx + Axis), vr = r(point::vx + Axis);
    const V ul = vl - grid_speed, ur = vr - grid_speed;
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
    // Two sums, not a sum and a difference: of those GCC 12 makes a fused instruction at -O2 even
    // where contraction is off.
    const V exchange = (ap * down) * inverse;
    const V from_left = share_l * ul + exchange;
    const V from_right = share_r * ur + (zero - exchange);
    const V pl = share_l * l(point::pressure), pr = share_r * r(point::pressure);
    const V p = pl + pr;
    const V mass_l = from_left * l(point::rho), mass_r = from_right * r(point::rho);
    const auto advect = [&](int k) { return from_left * l(k) + from_right * r(k); };
    const auto carry = [&](int k) { return mass_l * l(k) + mass_r * r(k); };
    sum[field::rho] = sum[field::rho] + (mass_l + mass_r);
    sum[field::egas] = sum[field::egas] + (advect(point::egas) + (pl * vl + pr * vr));
    sum[field::tau] = sum[field::tau] + advect(point::tau);
    sum[field::pot] = sum[field::pot] + advect(point::pot);
    sum[field::sx] = sum[field::sx] + (Axis == 0 ? carry(point::vx) + p : carry(point::vx));
    sum[field::sy] = sum[field::sy] + (Axis == 1 ? carry(point::vy) + p : carry(point::vy));
    sum[field::sz] = sum[field::sz] + (Axis == 2 ? carry(point::vz) + p : carry(point::vz));
    // r x (p n): the torque of the pressure on the face.
    const V tx = Axis == 1 ? zero - z * p : y * p;
    const V ty = Axis == 2 ? zero - x * p : z * p;
    const V tz = Axis == 0 ? zero - y * p : x * p;
    sum[field::lx] = sum[field::lx] + (Axis == 0 ? advect(point::lx) : advect(point::lx) + tx);
    sum[field::ly] = sum[field::ly] + (Axis == 1 ? advect(point::ly) : advect(point::ly) + ty);
    sum[field::lz] = sum[field::lz] + (Axis == 2 ? advect(point::lz) : advect(point::lz) + tz);
    for (int k = 0; k < species_count; ++k) {
      sum[field::species + k] = sum[field::species + k] + advect(point::species + k);
    }
  }
};

}  // namespace sedov
