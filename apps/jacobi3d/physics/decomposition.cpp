// SPDX-License-Identifier: Apache-2.0
#include "decomposition.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <string>

namespace jacobi3d {
namespace {

std::string text_of(triple n) {
  return std::to_string(n.x) + " x " + std::to_string(n.y) + " x " + std::to_string(n.z);
}

}  // namespace

decomposition decompose(triple grid, int blocks) {
  if (grid.x < 1 || grid.y < 1 || grid.z < 1)
    throw std::invalid_argument("grid: " + text_of(grid) +
                                " cells; each extent must be at least 1");
  if (blocks < 1)
    throw std::invalid_argument("blocks: " + std::to_string(blocks) + "; at least 1 is needed");
  std::optional<decomposition> best;
  // Most cuts across z first, then across y: only a smaller surface replaces what was found.
  for (int z = std::min(blocks, grid.z); z >= 1; --z) {
    if (blocks % z != 0) continue;
    const int layer = blocks / z;
    for (int y = std::min(layer, grid.y); y >= 1; --y) {
      if (layer % y != 0 || layer / y > grid.x) continue;
      const decomposition found{grid, {layer / y, y, z}};
      if (!best || found.surface() < best->surface()) best = found;
    }
  }
  if (!best)
    throw std::invalid_argument("blocks: " + std::to_string(blocks) +
                                " blocks cannot be cut from a grid of " + text_of(grid) +
                                " cells; choose fewer, or a number with smaller factors");
  const triple largest = best->extent({best->blocks.x - 1, best->blocks.y - 1, best->blocks.z - 1});
  const offset face = std::max({offset{largest.x} * largest.y, offset{largest.x} * largest.z,
                                offset{largest.y} * largest.z});
  if (face > std::numeric_limits<int>::max())
    throw std::invalid_argument("grid: " + text_of(grid) + " cells in " + std::to_string(blocks) +
                                " blocks make faces of more than 2^31 - 1 cells; take more blocks");
  return *best;
}

}  // namespace jacobi3d
