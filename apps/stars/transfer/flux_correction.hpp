// SPDX-License-Identifier: Apache-2.0
/// \file
/// Fluxes through the faces between levels: the coarse side takes those of the fine side.
#pragma once

#include "mesh/face_link.hpp"
#include "mesh/layout.hpp"
#include "mesh/subgrid.hpp"

namespace stars {

/// The fluxes through a face of a coarse sub-grid <- the means of the fluxes through the four fine
/// faces that cover it: both sides then exchange the same amount. Range (64, 15, count); x
/// counts the faces of cells: 8 along the lower of the two other axes, then 8 along the upper one.
///
/// Beyond a periodic boundary the fine sub-grids have other coordinates. The flux of angular
/// momentum is shifted by the difference, as boundary_transform shifts the momentum itself.
struct correct_fluxes {
  double* fluxes;               ///< [slots][3][15][576]; fine slots are read, coarse ones written
  const subgrid_frame* frames;  ///< [slots]
  const face_link* links;       ///< [count]
  int count;

  constexpr extent range() const { return {edge * edge, field_count, count}; }
  template <class Index>
  constexpr void operator()(Index i) const {
    const face_link& link = links[i.z];
    const int u = i.x % edge, v = i.x / edge, half = edge / 2;
    const int fine = link.fine[u / half + 2 * (v / half)];
    const int fu = 2 * (u % half), fv = 2 * (v % half);
    double flux = mean(link, fine, i.y, fu, fv);
    const int k = i.y - field::lx;  // component of the angular momentum
    if (k >= 0 && k < 3 && k != link.axis) {
      const double shift = plane(link.coarse, link.axis, link.side) -  //
                           plane(fine, link.axis, 1 - link.side);
      const bool next = k == (link.axis + 1) % 3;
      const int across = field::sx + 3 - link.axis - k;  // of e_axis x s: -s of axis + 2, s of + 1
      if (shift != 0.0) {
        const double torque = shift * mean(link, fine, across, fu, fv);
        flux = next ? flux - torque : flux + torque;
      }
    }
    fluxes[offset(link.coarse, link.axis, i.y, link.side * edge, u, v)] = flux;
  }

 private:
  /// Returns the offset of a flux; `at` counts faces along the axis.
  static constexpr index_type offset(int slot, int axis, int f, int at, int u, int v) {
    const int row = axis == 0 ? edge + 1 : edge;
    const int plane = axis == 2 ? edge * edge : edge * (edge + 1);
    const int face = axis == 0   ? at + row * u + plane * v
                     : axis == 1 ? u + row * at + plane * v
                                 : u + row * v + plane * at;
    return index_type{slot} * flux_block + (index_type{axis} * field_count + f) * face_count + face;
  }
  /// Opposite fine faces are added first: mirror images and exchanged axes give the same bits.
  constexpr double mean(const face_link& link, int fine, int f, int u, int v) const {
    const int at = (1 - link.side) * edge;
    const auto flux = [&](int a, int b) {
      return fluxes[offset(fine, link.axis, f, at, u + a, v + b)];
    };
    return 0.25 * ((flux(0, 0) + flux(1, 1)) + (flux(1, 0) + flux(0, 1)));
  }
  /// Returns the coordinate of a sub-grid's lower or upper face.
  constexpr double plane(int slot, int axis, int side) const {
    return (2.0 * edge * side + frames[slot].lower[axis]) * frames[slot].half_dx;
  }
};

}  // namespace stars
