// SPDX-License-Identifier: Apache-2.0
/// \file
/// Sub-grids: their cells and fields, their 26 directions, the boundaries of the domain, and where
/// a sub-grid and the sources of its ghost cells are.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace stars {

inline constexpr int edge = STARS_SUB_GRID_EDGE;  ///< cells along one edge of a sub-grid
static_assert(edge == 8 || edge == 16);
inline constexpr int cells_per_subgrid = edge * edge * edge;
inline constexpr int ghost_width = 3;   ///< ghost cells on each side
inline constexpr int field_count = 15;  ///< conserved fields
inline constexpr int species_count = 5;
inline constexpr int max_level = 10;        ///< the deepest octree with 32-bit sub-grid numbers
inline constexpr int direction_count = 26;  ///< 6 faces, 12 edges, 8 vertices

/// Conserved fields in storage order. Densities per volume, in domain units.
namespace field {
enum : int { rho, egas, tau, pot, sx, sy, sz, lx, ly, lz, species };
}
inline constexpr std::array<const char*, field_count> field_names = {
    "rho", "egas", "tau",      "pot",      "sx",       "sy",       "sz",      "lx",
    "ly",  "lz",   "species0", "species1", "species2", "species3", "species4"};

/// The condition beyond the domain's faces.
enum class boundary_kind : int {
  outflow,     ///< zero gradient; inward momentum is removed together with its kinetic energy
  reflecting,  ///< mirror image
  periodic     ///< the opposite side; angular momentum is shifted to the new position
};
constexpr const char* name_of(boundary_kind kind) {
  return kind == boundary_kind::outflow      ? "outflow"
         : kind == boundary_kind::reflecting ? "reflecting"
                                             : "periodic";
}

/// Three small integers: a cell, a sub-grid position or a direction.
struct triple {
  int x = 0, y = 0, z = 0;
  constexpr int operator[](int axis) const { return axis == 0 ? x : axis == 1 ? y : z; }
  friend constexpr bool operator==(const triple&, const triple&) = default;
};

/// Number of indices of a kernel's range; z counts sub-grids.
struct extent {
  int x = 1, y = 1, z = 1;
};

/// Returns the components (each -1, 0 or 1) of direction `d` in [0, 26). Opposite directions sum to
/// 25.
constexpr triple direction_vector(int d) {
  const int code = d < 13 ? d : d + 1;  // 13 would be "no direction"
  return {code % 3 - 1, code / 3 % 3 - 1, code / 9 - 1};
}
constexpr int direction_index(triple v) {
  const int code = (v.x + 1) + 3 * (v.y + 1) + 9 * (v.z + 1);
  return code < 13 ? code : code - 1;
}
constexpr int opposite(int d) { return direction_count - 1 - d; }

/// How the source cells of a ghost region are found along one axis.
enum class axis_rule : std::int8_t { inside, wrap, zero_gradient, mirror };

/// The source of the ghost cells in one direction.
struct ghost_source {
  int slot = 0;  ///< of the sub-grid whose interior is read; may be that of the ghosts
  axis_rule rule[3] = {axis_rule::inside, axis_rule::inside, axis_rule::inside};
  constexpr bool plain() const {
    return rule[0] == axis_rule::inside && rule[1] == axis_rule::inside &&
           rule[2] == axis_rule::inside;
  }
};

/// Where a sub-grid is. A point `half` half-cells from its lower corner has the coordinate
/// (half + lower) * half_dx along an axis. The sum is exact and the product is rounded once, so
/// that all sub-grids agree bitwise, also those of other levels.
struct subgrid_frame {
  double lower[3];
  double half_dx;
  double inverse_dx;
  /// Bit 2 axis + side: the face is one of the domain, and not periodic. Six bits higher: it is a
  /// wall, which reflects.
  unsigned open_faces;
  int number = -1;  ///< of the leaf in the tree, for `outflow_rate` and `find_fault`

  constexpr double dx() const { return 2.0 * half_dx; }
  constexpr bool open(int axis, int side) const {
    return (open_faces >> (2 * axis + side) & 1u) != 0;
  }
  constexpr bool wall(int axis, int side) const {
    return (open_faces >> (6 + 2 * axis + side) & 1u) != 0;
  }
};

/// Returns a source of ghost cells that is the sub-grid's own edge.
constexpr ghost_source own_edge(int slot, int direction) {
  const triple v = direction_vector(direction);
  ghost_source s{slot, {}};
  for (int a = 0; a < 3; ++a) s.rule[a] = v[a] == 0 ? axis_rule::inside : axis_rule::zero_gradient;
  return s;
}

/// The addresses of both tables, in memory of the host or of a device.
struct subgrid_view {
  const subgrid_frame* frames;  ///< [slots]
  const ghost_source* sources;  ///< [own sub-grids][26]

  /// Returns the sources of own sub-grid n.
  constexpr const ghost_source* sources_of(int n) const {
    return sources + std::ptrdiff_t{n} * direction_count;
  }
};

}  // namespace stars
