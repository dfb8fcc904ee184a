// SPDX-License-Identifier: Apache-2.0
/// \file
/// Kernels 2, 4 and 5 of a stage in one kernel, for one point on a face.
#pragma once

#include <utility>

#include "hydro/discontinuity.hpp"
#include "hydro/flux.hpp"
#include "hydro/reconstruction.hpp"

namespace stars {

/// Does the work of discontinuity_2, reconstruction and flux with the one-point quadrature, with
/// the same bits. Only the states on both sides of a face's centre are needed; they are exchanged
/// through scratch memory. A group computes the lines along an axis through `group_planes` planes.
/// Groups: (edge / group_planes, 3 axes, count).
struct line_flux {
  discontinuity_2 jump;   ///< its `jump` is not used
  reconstruction states;  ///< its `jump` and `points` are not used
  flux fluxes;            ///< its `points` are not used

  static constexpr int cells = ring_edge * edge * group_planes,
                       faces = (edge + 1) * edge * group_planes;
  static constexpr int group_size = cells, least_blocks = 3;
  static constexpr int scratch_bytes = 2 * point::count * cells * int(sizeof(double));

  constexpr extent range() const { return {edge / group_planes, 3, states.count}; }

  template <class Group, class Index>
  constexpr void operator()(Group& g, Index i) const {
    with_constant(states.kind, [&]<reconstruction_kind How> {
      if (i.y == 0) {
        run<0, How>(g, i);
      } else if (i.y == 1) {
        run<1, How>(g, i);
      } else {
        run<2, How>(g, i);
      }
    });
  }

 private:
  /// A cell of a group's lines, or the face above it: position along its line, and across the line.
  struct place {
    int along, u, v;
  };
  /// Returns the k-th place of lines of `length` places that begin at -1, x fastest.
  template <int Axis>
  static constexpr place place_of(int k, int length, int planes) {
    const int line = Axis == 0 ? k / length : k % edge + k / (edge * length) * edge;
    const int along = Axis == 0 ? k % length : k / edge % length;
    return {along - 1, line % edge, group_planes * planes + line / edge};
  }
  template <int Axis>
  static constexpr triple cell_of(place p) {
    return Axis == 0   ? triple{p.along, p.u, p.v}
           : Axis == 1 ? triple{p.u, p.along, p.v}
                       : triple{p.u, p.v, p.along};
  }
  /// Returns the offset of a cell's states in scratch memory.
  static constexpr int slot_of(place p, int planes) {
    return p.along + 1 + ring_edge * (p.u + edge * (p.v - group_planes * planes));
  }

  template <int Axis, reconstruction_kind How, class Group, class Index>
  constexpr void run(Group& g, Index i) const {
    auto* up = g.template scratch<double>();
    auto* down = up + point::count * cells;
    g.for_each(cells, [&](int k) {
      const place p = place_of<Axis>(k, ring_edge, i.x);
      const int slot = slot_of(p, i.x);
      find_states<Axis, How>(cell_of<Axis>(p), i.z, up + slot, down + slot);
    });
    g.sync();
    g.for_each(faces, [&](int k) {
      const place p = place_of<Axis>(k, edge + 1, i.x);
      const int slot = slot_of(p, i.x);
      find_flux<Axis>(cell_of<Axis>(p), i.z, up + slot, down + slot + 1);
    });
  }

  /// Computes the states at both ends of the line through a cell.
  template <int Axis, reconstruction_kind How>
  constexpr void find_states(triple at, int n, double* up, double* down) const {
    const triple d{Axis == 0, Axis == 1, Axis == 2}, back{-d.x, -d.y, -d.z};
    const int step = reconstruction::step_of(d);
    const double* u = states.w + ghosted_at(n, 0, at.x, at.y, at.z);
    // A pair has the number and the step of its lower direction, which is -d.
    const double contact = jump.value<double>(
        jump.pressure + index_type{n} * pressure_block + ghosted_at(0, 0, at.x, at.y, at.z), -step);
    find_ends<How>(u, -step, contact, down, up, std::make_integer_sequence<int, field_count>());
    finish(up, at, d, n);
    finish(down, at, back, n);
  }
  template <reconstruction_kind How, int... F>
  static constexpr void find_ends(const double* u, int step, double contact, double* upper,
                                  double* lower, std::integer_sequence<int, F...>) {
    const auto put = [&](int f, const profile<double>& p) {
      upper[f * cells] = p.upper();
      lower[f * cells] = p.lower();
    };
    (put(F, reconstruction::field_profile<double, How, F>(u, step, nullptr, &contact)), ...);
  }
  /// Converts the ends of profiles to a state, in place.
  constexpr void finish(double* state, triple at, triple d, int n) const {
    states.finish<double>([&](int f) { return state[f * cells]; },
                          [&](int f, double value) { state[f * cells] = value; },
                          reconstruction::point_position<double>(
                              double(at.x), double(at.y), double(at.z), d, states.frames[n]));
  }

  /// Computes the flux through the face above a cell.
  template <int Axis>
  constexpr void find_flux(triple below, int n, const double* left, const double* right) const {
    const int x = below.x + (Axis == 0), y = below.y + (Axis == 1), z = below.z + (Axis == 2);
    const int nx = edge + (Axis == 0), ny = edge + (Axis == 1);
    const flux::place<double> f{x, y, z, 0, double(x), double(y), double(z)};
    const triple d = flux::with_axis<Axis>(face_point::of(0), 1);
    double sum[field_count] = {}, fastest = 0.0;
    fluxes.add_point<Axis>({left, cells}, {right, cells}, fluxes.weight_of(0),
                           flux::points_of<double, Axis>(f, d, fluxes.frames[n]), sum, fastest);
    fluxes.store<Axis>(x + nx * (y + ny * z), n, sum, fastest);
  }
};

}  // namespace stars
