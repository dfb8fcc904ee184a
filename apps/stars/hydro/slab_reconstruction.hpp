// SPDX-License-Identifier: Apache-2.0
/// \file
/// Kernels 2 and 4 of a stage in one kernel, for processors with memory shared by a group.
#pragma once

#include "hydro/discontinuity.hpp"
#include "hydro/reconstruction.hpp"

namespace stars {

/// The cells of two planes of the ring whose profiles along a pair of directions are needed,
/// numbered without gaps. At most one coordinate of such a cell is in the ghosts.
struct ring_slab {
  triple d;
  int z;  ///< of the lowest plane: -1, -1 + group_planes, …

  static constexpr int count = ring_edge / group_planes;
  static constexpr int most = group_planes * (edge * ring_edge + 2 * edge);

  constexpr int row() const { return d.x != 0 ? ring_edge : edge; }
  constexpr int cells_of_plane(int at) const {
    if (at < 0 || at >= edge) return d.z != 0 ? edge * edge : 0;
    return edge * row() + (d.y != 0 ? 2 * edge : 0);
  }
  constexpr int size() const {
    int cells = 0;
    for (int k = 0; k < group_planes; ++k) cells += cells_of_plane(z + k);
    return cells;
  }
  constexpr triple cell(int k) const {
    int at = z;
    for (; k >= cells_of_plane(at); ++at) k -= cells_of_plane(at);
    return cell_of_plane(at, k);
  }

 private:
  constexpr triple cell_of_plane(int at, int k) const {
    if (at < 0 || at >= edge) return {k % edge, k / edge, at};
    if (k < edge * row()) return {k % row() - (d.x != 0 ? 1 : 0), k / row(), at};
    const int rest = k - edge * row();  // the rows y = -1 and y = edge
    return {rest % edge, rest < edge ? -1 : edge, at};
  }
};

/// Does the work of discontinuity_2 and reconstruction, with the same bits; jumps are not stored. A
/// group computes `group_planes` planes of the ring for all pairs of directions, from a copy of the
/// needed
/// variables in its scratch memory: the variables of the flow, or density and species. Groups:
/// (ring_slab::count, 2, count).
struct slab_reconstruction {
  reconstruction states;  ///< its `jump` is not used
  discontinuity_2 jump;   ///< its `jump` is not used

  static constexpr int flow_count = field::species, species_first = flow_count - 1;
  static constexpr int planes = group_planes + 4;  ///< two more on each side
  static constexpr int slab = planes * ghosted.plane;
  static constexpr int scratch_bytes = (flow_count + 1) * slab * int(sizeof(double));
  static constexpr int group_size = 256, least_blocks = 2;

  constexpr extent range() const { return {ring_slab::count, 2, states.count}; }

  template <class Group, class Index>
  constexpr void operator()(Group& g, Index i) const {
    auto* copy = g.template scratch<double>();  // pressure first
    const bool flow = i.y == 0;
    const index_type from = group_planes * i.x * ghosted.plane;
    g.copy(copy, jump.pressure + index_type{i.z} * pressure_block + from, slab);
    const double* w = states.w + index_type{i.z} * ghosted.block + from;
    for (int f = 0; f < (flow ? flow_count : 1 + species_count); ++f) {
      g.copy(copy + (1 + f) * slab, w + variable(flow, f) * ghosted.field, slab);
    }
    g.sync();
    with_constant(states.kind, [&]<reconstruction_kind How> { run<How>(g, i, flow, copy); });
  }

 private:
  /// Returns the variable at position f of the copy.
  static constexpr int variable(bool flow, int f) { return flow || f == 0 ? f : species_first + f; }

  template <reconstruction_kind How, class Group, class Index>
  constexpr void run(Group& g, Index i, bool flow, const double* copy) const {
    g.for_each(pair_count * ring_slab::most, [&](int k) {
      const int pair = k / ring_slab::most, at = k % ring_slab::most;
      const ring_slab cells{direction_vector(pair), group_planes * i.x - 1};
      if (at >= cells.size() || states.skips(cells.d)) return;
      const triple c = cells.cell(at);
      const double* p = copy + ghosted_at(0, 0, c.x, c.y, c.z - group_planes * i.x);
      flow ? find_flow<How>(p, c, pair, i.z) : find_species<How>(p, c, pair, i.z);
    });
  }

  /// Returns the address for the state at one end; null if no face needs this state.
  constexpr double* place_of(triple at, int direction, int n) const {
    const reconstruction::box b(direction_vector(direction));
    if (!b.holds_row(at.y, at.z) || !b.lanes_from<double>(at.x)) return nullptr;
    return states.states(direction, n) + b.place(at.x, at.y, at.z);
  }

  /// The ends of the profile of a variable.
  struct ends {
    double up, down;
  };
  template <reconstruction_kind How, profile_kind Kind>
  static constexpr ends find(const double* u, int step, const double* contact) {
    const auto p = profile_of<double, profile_with(How, Kind)>(u, step, nullptr, contact);
    return {p.upper(), p.lower()};
  }

  template <reconstruction_kind How>
  constexpr void find_flow(const double* p, triple cell, int pair, int n) const {
    const triple d = direction_vector(pair);
    const int step = reconstruction::step_of(d);
    const double contact = jump.value<double>(p, step);
    ends of[flow_count];
    const auto set = [&]<profile_kind Kind>(std::integral_constant<profile_kind, Kind>, auto... f) {
      ((of[f] = find<How, Kind>(p + (1 + f) * slab, step, &contact)), ...);
    };
    using enum profile_kind;
    set(std::integral_constant<profile_kind, steepened>(), field::rho);
    set(std::integral_constant<profile_kind, positive>(), field::egas, field::tau);
    set(std::integral_constant<profile_kind, limited>(), field::sx, field::sy, field::sz);
    set(std::integral_constant<profile_kind, smooth>(), field::pot);
    set(std::integral_constant<profile_kind, linear>(), field::lx, field::ly, field::lz);
    store_flow(cell, pair, n, d, [&](int f) { return of[f].up; });
    store_flow(cell, opposite(pair), n, {-d.x, -d.y, -d.z}, [&](int f) { return of[f].down; });
  }
  template <class Get>
  constexpr void store_flow(triple cell, int direction, int n, triple v, Get get) const {
    double* out = place_of(cell, direction, n);
    if (out == nullptr) return;
    states.finish_flow<double>(
        get, [&](int f, double value) { out[f * box_size] = value; },
        reconstruction::point_position<double>(double(cell.x), double(cell.y), double(cell.z), v,
                                               states.frames[n]));
  }

  template <reconstruction_kind How>
  constexpr void find_species(const double* p, triple cell, int pair, int n) const {
    const int step = reconstruction::step_of(direction_vector(pair));
    const double contact = jump.value<double>(p, step);
    ends of[1 + species_count];
    for (int f = 0; f <= species_count; ++f)
      of[f] = find<How, profile_kind::steepened>(p + (1 + f) * slab, step, &contact);
    store_species(place_of(cell, pair, n), [&](int f) { return of[f].up; });
    store_species(place_of(cell, opposite(pair), n), [&](int f) { return of[f].down; });
  }
  template <class Get>
  static constexpr void store_species(double* out, Get get) {
    if (out == nullptr) return;
    reconstruction::finish_species<double>([&](int f) { return get(f - species_first); },
                                           [&](int f, double value) { out[f * box_size] = value; },
                                           get(0));
  }
};

}  // namespace stars
