// SPDX-License-Identifier: Apache-2.0
/// \file
/// Whole numbers of grids: cells, extents, places in arrays.
#pragma once

#include <cstdint>

namespace apps {

/// Distance in an array of numbers: arrays may hold more than 2^31 of them.
using offset = std::int64_t;

/// Three whole numbers, along x, y and z: a cell, an extent, a count of blocks or of groups.
struct triple {
  int x = 0, y = 0, z = 0;
  friend constexpr bool operator==(const triple&, const triple&) = default;
};

constexpr offset rounded_up(offset n, offset unit) { return (n + unit - 1) / unit * unit; }
/// Pieces of `of` cells, the last one perhaps smaller, into which `cells` are cut.
constexpr int pieces(int cells, int of) { return cells / of + (cells % of != 0 ? 1 : 0); }

}  // namespace apps
