// SPDX-License-Identifier: Apache-2.0
/// \file
/// The uniform octree mesh, its Z-order numbering, its 26 directions, and the snapshot that all
/// writers, readers and drivers share.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace stars {

inline constexpr int edge = 8;  ///< cells along one edge of a sub-grid
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
  unsigned open_faces;  ///< bit 2 axis + side: the face is one of the domain, and not periodic

  constexpr double dx() const { return 2.0 * half_dx; }
  constexpr bool open(int axis, int side) const {
    return (open_faces >> (2 * axis + side) & 1u) != 0;
  }
};

/// The cube [-xscale, xscale]^3, divided into 8^level sub-grids of 8^3 cells.
struct mesh {
  int level = 0;        ///< 0 … max_level
  double xscale = 1.0;  ///< half the edge of the domain

  constexpr int subgrids_per_edge() const { return 1 << level; }
  constexpr int subgrid_count() const { return 1 << (3 * level); }
  constexpr int cells_per_edge() const { return edge << level; }
  constexpr std::ptrdiff_t cell_count() const {
    return std::ptrdiff_t{subgrid_count()} * cells_per_subgrid;
  }
  constexpr double dx() const { return 2.0 * xscale / cells_per_edge(); }
  constexpr double cell_volume() const { return dx() * dx() * dx(); }

  /// Returns the position of sub-grid `id` (Z-order, x in the lowest bit).
  static constexpr triple place(int id) {
    const auto u = static_cast<std::uint32_t>(id);
    return {squeeze(u), squeeze(u >> 1), squeeze(u >> 2)};
  }
  static constexpr int id_of(triple p) {
    return static_cast<int>(spread(p.x) | spread(p.y) << 1 | spread(p.z) << 2);
  }

  /// Returns the coordinate of a point that is `half` half-cells from the lower domain face: cell i
  /// has its centre at 2i+1 and its faces at 2i and 2i+2. It rounds once, so that all sub-grids
  /// agree bitwise.
  constexpr double coordinate(int half) const {
    return static_cast<double>(half - cells_per_edge()) * (xscale / cells_per_edge());
  }
  constexpr double centre(int global_cell) const { return coordinate(2 * global_cell + 1); }

  /// Returns the frame of sub-grid `id`; beyond its open faces there is a boundary of this kind.
  constexpr subgrid_frame frame_of(int id, boundary_kind kind) const {
    const triple p = place(id);
    const int n = cells_per_edge();
    subgrid_frame f{{}, xscale / n, 1.0 / dx(), 0};
    for (int a = 0; a < 3; ++a) {
      f.lower[a] = static_cast<double>(2 * edge * p[a] - n);
      if (kind == boundary_kind::periodic) continue;
      if (p[a] == 0) f.open_faces |= 1u << (2 * a);
      if (p[a] == subgrids_per_edge() - 1) f.open_faces |= 2u << (2 * a);
    }
    return f;
  }

  /// Returns the neighbour in direction `d`, or -1 beyond a domain face that is not periodic.
  constexpr int neighbour(int id, int d, boundary_kind kind) const {
    const triple p = place(id), v = direction_vector(d);
    triple q{p.x + v.x, p.y + v.y, p.z + v.z};
    const int n = subgrids_per_edge();
    if (kind == boundary_kind::periodic) {
      q = {(q.x + n) % n, (q.y + n) % n, (q.z + n) % n};
    }
    const bool in = q.x >= 0 && q.x < n && q.y >= 0 && q.y < n && q.z >= 0 && q.z < n;
    return in ? id_of(q) : -1;
  }

  /// Returns the source of the ghost cells of sub-grid `id` in direction `d`, domain faces
  /// included; slots are numbers of sub-grids.
  constexpr ghost_source source(int id, int d, boundary_kind kind) const {
    const triple p = place(id), v = direction_vector(d);
    ghost_source s;
    int q[3] = {};
    for (int a = 0; a < 3; ++a) {
      const int n = subgrids_per_edge();
      q[a] = p[a] + v[a];
      if (q[a] >= 0 && q[a] < n) continue;
      const bool wraps = kind == boundary_kind::periodic;
      s.rule[a] = wraps                               ? axis_rule::wrap
                  : kind == boundary_kind::reflecting ? axis_rule::mirror
                                                      : axis_rule::zero_gradient;
      q[a] = wraps ? (q[a] + n) % n : p[a];
    }
    s.slot = id_of({q[0], q[1], q[2]});
    return s;
  }

  friend constexpr bool operator==(const mesh&, const mesh&) = default;

 private:
  static constexpr int squeeze(std::uint32_t u) {  // every third bit, packed
    u &= 0x09249249u;
    u = (u | u >> 2) & 0x030c30c3u;
    u = (u | u >> 4) & 0x0300f00fu;
    u = (u | u >> 8) & 0x030000ffu;
    u = (u | u >> 16) & 0x000003ffu;
    return static_cast<int>(u);
  }
  static constexpr std::uint32_t spread(int i) {  // the inverse
    auto u = static_cast<std::uint32_t>(i) & 0x3ffu;
    u = (u | u << 16) & 0x030000ffu;
    u = (u | u << 8) & 0x0300f00fu;
    u = (u | u << 4) & 0x030c30c3u;
    u = (u | u << 2) & 0x09249249u;
    return u;
  }
};

/// The whole state between two steps, as used by drivers, output and restart.
struct snapshot {
  mesh grid;
  double time = 0.0;
  long step = 0;
  double gamma = 1.4;
  std::string problem;
  boundary_kind boundary = boundary_kind::outflow;
  /// Integral over time and domain surface of each field's outward flux (amount, not density).
  std::array<double, field_count> outflow{};
  /// [sub-grid][field][z][y][x], interior cells only, x fastest.
  std::vector<double> data;

  static std::size_t size_of(const mesh& grid) {
    return static_cast<std::size_t>(grid.cell_count()) * field_count;
  }
  std::size_t index(int subgrid, int f, triple cell) const {
    return (static_cast<std::size_t>(subgrid) * field_count + f) * cells_per_subgrid +
           (cell.z * edge + cell.y) * edge + cell.x;
  }
  /// Returns field `f` in the cell with global position `g` (0 … cells_per_edge-1 each).
  double at(int f, triple g) const {
    const int id = mesh::id_of({g.x / edge, g.y / edge, g.z / edge});
    return data[index(id, f, {g.x % edge, g.y % edge, g.z % edge})];
  }
};

}  // namespace stars
