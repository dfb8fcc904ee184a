// SPDX-License-Identifier: Apache-2.0
/// \file
/// Which cells interact, and how.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "gravity/cell_order.hpp"
#include "gravity/expansion.hpp"

namespace stars {

/// The smallest opening parameter: cells beyond it that are near lie in neighbouring nodes, and
/// those of the next level among them are leaves.
inline constexpr double least_theta = 0.25;
/// The largest one: cells that touch are near.
inline constexpr double largest_theta = 0.57;

/// Three integers of one byte.
struct small_triple {
  std::int8_t x = 0, y = 0, z = 0;

  constexpr small_triple() = default;
  explicit constexpr small_triple(const triple& v)
      : x(std::int8_t(v.x)), y(std::int8_t(v.y)), z(std::int8_t(v.z)) {}
  constexpr operator triple() const { return {x, y, z}; }
};

/// A cell with which the cells of a group interact.
struct alignas(8) partner {
  small_triple offset;  ///< from the receiver, in cells
  std::int8_t group;    ///< in which the partners are
  small_triple shift;   ///< from the receiver's position in its group to the partner's in its own
};

static_assert(sizeof(partner) == 8);

/// Lists of partners for each group of receivers: of group g those from begin[g] to before
/// begin[g + 1]. Every sum over partners has their order.
struct stencil {
  std::vector<partner> partners;
  std::array<int, group_count + 1> begin{};
  int reach = 0;  ///< the largest component of a shift

  [[nodiscard]] std::span<const partner> of(int group) const {
    const auto first = std::size_t(begin[std::size_t(group)]);
    return {partners.data() + first, std::size_t(begin[std::size_t(group) + 1]) - first};
  }
};

/// The partners of a stencil, in memory of the host or of a device.
struct stencil_view {
  const partner* partners;
  const int* distances;  ///< of partners in an array of groups: `group_cube`
  int reach;
  int begin[group_count + 1];
};

/// An array with the cells of a node and those around it, as far as a stencil with a reach: for
/// each group a cube of positions from -reach on.
struct group_cube {
  int reach;

  constexpr int row() const { return group_edge + 2 * reach; }
  constexpr int plane() const { return row() * row(); }
  constexpr int cells() const { return row() * plane(); }  ///< of a group
  /// Returns the place of a position in the cube of group 0.
  constexpr int place(const triple& k) const {
    return (k.x + reach) + row() * (k.y + reach) + plane() * (k.z + reach);
  }
  /// Returns the distance between the places of a receiver, if it were in group 0, and its partner.
  constexpr int distance(const partner& p) const {
    return p.group * cells() + p.shift.x + row() * p.shift.y + plane() * p.shift.z;
  }
};

/// The stencils of an opening parameter theta. Two different cells of one level are *far* from each
/// other if their distance in cells is at least 1/theta, otherwise *near*. They interact on their
/// level only if their parents are near or the same.
struct stencils {
  /// Throws std::invalid_argument unless least_theta ≤ theta ≤ largest_theta.
  explicit stencils(double theta);

  double theta;
  stencil far;          ///< far, parents near
  stencil near;         ///< near
  stencil all;          ///< far or near, parents near: partners of a leaf that are leaves
  stencil far_in_root;  ///< far, any parents: cells of the root have none
  stencil all_in_root;  ///< far or near, any parents
};

/// Returns whether two different cells of one level at this distance, in cells, are near.
constexpr bool are_near(const triple& offset, double theta) {
  const int square = offset.x * offset.x + offset.y * offset.y + offset.z * offset.z;
  return square * (theta * theta) < 1.0;
}

/// The potential of a mass of 1 at a partner, and its first derivatives, for cells of size 1.
struct alignas(16) pair_potential {
  double value;
  double first[3];

  constexpr explicit pair_potential(const triple& offset) {
    const inverse_distance<double> from({-1.0 * offset.x, -1.0 * offset.y, -1.0 * offset.z});
    value = from.d[0];
    first[0] = from.d[1] * from.x.x;
    first[1] = from.d[1] * from.x.y;
    first[2] = from.d[1] * from.x.z;
  }
};

}  // namespace stars
