// SPDX-License-Identifier: Apache-2.0
/// \file
/// The name of an octree node, its position in Z-order, its relatives and its neighbours.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "mesh/subgrid.hpp"

namespace stars {

inline constexpr int deepest_level = 20;  ///< Z-order numbers of 3 · 20 bits

/// Sets bit 3i of the result to bit i of `n`, 0 ≤ n < 2^21.
constexpr std::uint64_t spread_bits(int n) {
  auto u = static_cast<std::uint64_t>(n) & 0x1fffffu;
  u = (u | u << 32) & 0x001f00000000ffffu;
  u = (u | u << 16) & 0x001f0000ff0000ffu;
  u = (u | u << 8) & 0x100f00f00f00f00fu;
  u = (u | u << 4) & 0x10c30c30c30c30c3u;
  u = (u | u << 2) & 0x1249249249249249u;
  return u;
}
/// Returns bits 0, 3, 6 … of `u`, packed: the inverse of `spread_bits`.
constexpr int squeeze_bits(std::uint64_t u) {
  u &= 0x1249249249249249u;
  u = (u | u >> 2) & 0x10c30c30c30c30c3u;
  u = (u | u >> 4) & 0x100f00f00f00f00fu;
  u = (u | u >> 8) & 0x001f0000ff0000ffu;
  u = (u | u >> 16) & 0x001f00000000ffffu;
  u = (u | u >> 32) & 0x00000000001fffffu;
  return static_cast<int>(u);
}

/// A cube of the domain: one of the 8^level equal cubes of a level. Whether a tree has such a node
/// is a property of the tree.
///
/// Keys are ordered by Z-order (x in the lowest bit); an ancestor is less than its descendants.
struct node_key {
  int level = 0;  ///< 0 (the root) … deepest_level
  triple place;   ///< 0 … 2^level - 1 on each axis

  constexpr int per_edge() const { return 1 << level; }
  constexpr bool is_valid() const {
    if (level < 0 || level > deepest_level) return false;
    return is_inside(place.x) && is_inside(place.y) && is_inside(place.z);
  }

  /// Returns the number among the nodes of the level, in Z-order.
  constexpr std::uint64_t z_number() const {
    return spread_bits(place.x) | spread_bits(place.y) << 1 | spread_bits(place.z) << 2;
  }
  static constexpr node_key at(int level, std::uint64_t z_number) {
    return {level,
            {squeeze_bits(z_number), squeeze_bits(z_number >> 1), squeeze_bits(z_number >> 2)}};
  }
  /// Return the first Z-order number, on `deepest_level`, inside the cube and behind it.
  constexpr std::uint64_t begin() const { return z_number() << 3 * (deepest_level - level); }
  constexpr std::uint64_t end() const { return (z_number() + 1) << 3 * (deepest_level - level); }
  /// Returns a number that no other node has, on any level; never 0.
  constexpr std::uint64_t code() const { return std::uint64_t{1} << 3 * level | z_number(); }

  /// Returns the parent; the root has none.
  constexpr node_key parent() const {
    return {level - 1, {place.x >> 1, place.y >> 1, place.z >> 1}};
  }
  /// Returns the octant (x + 2y + 4z) of the parent that this node is.
  constexpr int octant() const { return (place.x & 1) | (place.y & 1) << 1 | (place.z & 1) << 2; }
  constexpr node_key child(int octant) const {
    return {level + 1,
            {2 * place.x + (octant & 1), 2 * place.y + (octant >> 1 & 1),
             2 * place.z + (octant >> 2 & 1)}};
  }
  /// Returns the node of the same level at distance `v` (components -1, 0, 1), if it is in the
  /// domain; a periodic domain continues at its opposite side.
  constexpr std::optional<node_key> neighbour(triple v, bool periodic) const {
    node_key n{level, {place.x + v.x, place.y + v.y, place.z + v.z}};
    if (periodic) {
      const int last = per_edge() - 1;
      n.place = {n.place.x & last, n.place.y & last, n.place.z & last};
    }
    return n.is_valid() ? std::optional<node_key>(n) : std::nullopt;
  }

  friend constexpr bool operator==(const node_key&, const node_key&) = default;
  friend constexpr std::strong_ordering operator<=>(const node_key& a, const node_key& b) {
    return std::pair(a.begin(), a.level) <=> std::pair(b.begin(), b.level);
  }

 private:
  constexpr bool is_inside(int i) const { return i >= 0 && i < per_edge(); }
};

/// Returns "node at level 2, place (1, 0, 3)".
std::string describe(const node_key& node);

/// Returns the frame of a node in the domain [-xscale, xscale]^3. A point that is a corner or a
/// centre of cells on several levels has bitwise the same coordinates in all frames: `half_dx`
/// differs by powers of two, and the sum `half + lower` is exact.
constexpr subgrid_frame frame_of(const node_key& node, double xscale, boundary_kind kind) {
  const int n = edge << node.level;
  const double half_dx = xscale / n;
  subgrid_frame f{{}, half_dx, 1.0 / (2.0 * half_dx), 0};
  for (int a = 0; a < 3; ++a) {
    f.lower[a] = static_cast<double>(2 * edge * node.place[a] - n);
    if (kind == boundary_kind::periodic) continue;
    const unsigned kinds = kind == boundary_kind::reflecting ? 1u + (1u << 6) : 1u;
    if (node.place[a] == 0) f.open_faces |= kinds << (2 * a);
    if (node.place[a] == node.per_edge() - 1) f.open_faces |= kinds << (2 * a + 1);
  }
  return f;
}

/// The cube from which the ghost cells of a node are filled in one direction, and how.
struct ghost_node {
  node_key node;  ///< of the same level, in the domain; the tree may lack it
  axis_rule rule[3] = {axis_rule::inside, axis_rule::inside, axis_rule::inside};
};

/// Returns the source of the ghost cells of `node` in direction `v`: the neighbour or, beyond a
/// domain face, the cells that the boundary transforms.
constexpr ghost_node ghost_node_of(const node_key& node, triple v, boundary_kind kind) {
  ghost_node s;
  int q[3] = {};
  for (int a = 0; a < 3; ++a) {
    q[a] = node.place[a] + v[a];
    if (q[a] >= 0 && q[a] < node.per_edge()) continue;
    const bool wraps = kind == boundary_kind::periodic;
    s.rule[a] = wraps                               ? axis_rule::wrap
                : kind == boundary_kind::reflecting ? axis_rule::mirror
                                                    : axis_rule::zero_gradient;
    q[a] = wraps ? q[a] & (node.per_edge() - 1) : node.place[a];
  }
  s.node = {node.level, {q[0], q[1], q[2]}};
  return s;
}

}  // namespace stars
