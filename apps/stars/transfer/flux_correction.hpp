// SPDX-License-Identifier: Apache-2.0
/// \file
/// Fluxes through the faces between levels: the coarse side takes those of the fine side.
#pragma once

#include "mesh/face_link.hpp"
#include "mesh/layout.hpp"

namespace stars {

inline constexpr int quadrant_edge = edge / 2;  ///< coarse faces along a quadrant
inline constexpr int quadrant_faces = quadrant_edge * quadrant_edge;
inline constexpr int face_row = field_count * quadrant_faces;  ///< numbers in a row of mean fluxes

/// Returns the offset of a flux of a sub-grid; `at` counts faces along the axis, u and v cells
/// along the lower and the upper one of the other axes.
constexpr index_type flux_at(int n, int axis, int f, int at, int u, int v) {
  const int row = axis == 0 ? edge + 1 : edge;
  const int plane = axis == 2 ? edge * edge : edge * (edge + 1);
  const int face = axis == 0   ? at + row * u + plane * v
                   : axis == 1 ? u + row * at + plane * v
                               : u + row * v + plane * at;
  return index_type{n} * flux_block + (index_type{axis} * field_count + f) * face_count + face;
}

/// Rows of `means` <- the means of fluxes through four fine faces each: coarse faces that take them
/// exchange the same amounts as the fine ones. Range (16, 15, count); x counts the faces of the
/// quadrant.
///
/// Beyond a periodic boundary the fine sub-grids have other coordinates. The flux of angular
/// momentum is shifted by the difference, as boundary_transform shifts the momentum itself.
struct mean_fluxes {
  const double* fluxes;    ///< [sub-grids from `first` on][3][15][576]
  double* means;           ///< [rows][15][4][4]
  const fine_face* faces;  ///< [count]
  int first;               ///< slot
  int count;

  constexpr extent range() const { return {quadrant_faces, field_count, count}; }
  template <class Index>
  constexpr void operator()(Index i) const {
    const fine_face& face = faces[i.z];
    double flux = mean(face, i.y, i.x);
    const int k = i.y - field::lx;  // component of the angular momentum
    if (face.shift != 0.0 && k >= 0 && k < 3 && k != face.axis) {
      const bool next = k == (face.axis + 1) % 3;
      const int across = field::sx + 3 - face.axis - k;  // of e_axis x s: -s of axis + 2, s of + 1
      const double torque = face.shift * mean(face, across, i.x);
      flux = next ? flux - torque : flux + torque;
    }
    means[index_type{face.row} * face_row + i.y * quadrant_faces + i.x] = flux;
  }

 private:
  /// Opposite fine faces are added first: mirror images and exchanged axes give the same bits.
  constexpr double mean(const fine_face& face, int f, int k) const {
    const int u = 2 * (k % quadrant_edge), v = 2 * (k / quadrant_edge);
    const auto flux = [&](int a, int b) {
      return fluxes[flux_at(face.slot - first, face.axis, f, face.side * edge, u + a, v + b)];
    };
    return 0.25 * ((flux(0, 0) + flux(1, 1)) + (flux(1, 0) + flux(0, 1)));
  }
};

/// The fluxes through coarse faces <- rows of `means`. Range (64, 15, count); x counts the faces of
/// cells.
struct correct_fluxes {
  double* fluxes;            ///< [sub-grids from `first` on][3][15][576]
  const double* means;       ///< [rows][15][4][4]
  const coarse_face* faces;  ///< [count]
  int first;                 ///< slot
  int count;

  constexpr extent range() const { return {edge * edge, field_count, count}; }
  template <class Index>
  constexpr void operator()(Index i) const {
    const coarse_face& face = faces[i.z];
    const int u = i.x % edge, v = i.x / edge;
    const int row = face.rows[u / quadrant_edge + 2 * (v / quadrant_edge)];
    const int k = u % quadrant_edge + quadrant_edge * (v % quadrant_edge);
    fluxes[flux_at(face.slot - first, face.axis, i.y, face.side * edge, u, v)] =
        means[index_type{row} * face_row + i.y * quadrant_faces + k];
  }
};

}  // namespace stars
