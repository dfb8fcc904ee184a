// SPDX-License-Identifier: Apache-2.0
/// \file
/// Integers of grids: cells, extents, offsets in arrays.
#pragma once

#include <cstdint>

namespace apps {

/// Distance in an array of numbers. 64 bits: arrays may hold more than 2^31 numbers.
using offset = std::int64_t;

/// Three integers, along x, y and z: a cell, an extent, or a number of blocks or groups.
struct triple {
  int x = 0, y = 0, z = 0;
  friend constexpr bool operator==(const triple&, const triple&) = default;
};

constexpr offset rounded_up(offset n, offset unit) { return (n + unit - 1) / unit * unit; }
/// Returns the number of pieces of `of` cells into which `cells` are cut; the last piece may be
/// smaller.
constexpr int pieces(int cells, int of) { return cells / of + (cells % of != 0 ? 1 : 0); }

}  // namespace apps
