// SPDX-License-Identifier: Apache-2.0
#include "decomposition.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>

namespace jacobi3d {
namespace {

std::string text_of(triple n) {
  return std::to_string(n.x) + " x " + std::to_string(n.y) + " x " + std::to_string(n.z);
}

/// Calls visit(triple) for each way to cut `grid` into `pieces`, in the order of most cuts across
/// z, then across y.
template <class Visit>
void for_each_cut(triple grid, int pieces, Visit visit) {
  for (int z = std::min(pieces, grid.z); z >= 1; --z) {
    if (pieces % z != 0) continue;
    const int layer = pieces / z;
    for (int y = std::min(layer, grid.y); y >= 1; --y)
      if (layer % y == 0 && layer / y <= grid.x) visit(triple{layer / y, y, z});
  }
}

triple times(triple a, triple b) { return {a.x * b.x, a.y * b.y, a.z * b.z}; }

std::string refusal_text(triple grid, int parts, int blocks) {
  const std::string pieces =
      blocks == 1 ? " blocks" : " parts of " + std::to_string(blocks) + " blocks each";
  return text_of(grid) + " cells cannot be cut into " + std::to_string(parts) + pieces +
         "; take a larger grid, fewer of them, or numbers with smaller factors";
}

void require_positive(const char* what, int number) {
  if (number < 1)
    throw std::invalid_argument(std::string(what) + ": " + std::to_string(number) +
                                "; at least 1 is needed");
}

/// Throws if a face has too many cells: messages count them in an int.
void require_countable_faces(const decomposition& d) {
  const triple n = d.extent({d.blocks.x - 1, d.blocks.y - 1, d.blocks.z - 1});  // the largest
  const offset face = std::max({offset{n.x} * n.y, offset{n.x} * n.z, offset{n.y} * n.z});
  if (face > std::numeric_limits<int>::max())
    throw std::invalid_argument("grid: " + text_of(d.grid) + " cells in " +
                                std::to_string(d.count()) +
                                " blocks make faces of more than 2^31 - 1 cells; take more blocks");
}

bool fits(triple n, triple within) {
  return n.x >= 1 && n.y >= 1 && n.z >= 1 && n.x <= within.x && n.y <= within.y && n.z <= within.z;
}

void require_cells(triple grid) {
  if (!fits({1, 1, 1}, grid))
    throw std::invalid_argument("grid: " + text_of(grid) +
                                " cells; each extent must be at least 1");
}

}  // namespace

decomposition decompose(triple grid, int parts, int blocks) {
  require_cells(grid);
  require_positive("parts", parts);
  require_positive("blocks", blocks);
  std::optional<decomposition> best;
  const auto surfaces = [](const decomposition& d) {
    return std::pair(d.surface_of_parts(), d.surface());
  };
  for_each_cut(grid, parts, [&](triple p) {
    const triple least{grid.x / p.x, grid.y / p.y, grid.z / p.z};  // cells of the smallest part
    for_each_cut(least, blocks, [&](triple b) {
      const decomposition found{grid, times(p, b), p};
      if (!best || surfaces(found) < surfaces(*best)) best = found;
    });
  });
  if (!best) throw std::invalid_argument("grid: " + refusal_text(grid, parts, blocks));
  require_countable_faces(*best);
  return *best;
}

decomposition decompose_into(triple grid, triple blocks, int parts) {
  require_cells(grid);
  require_positive("parts", parts);
  if (!fits(blocks, grid) || volume(blocks) > std::numeric_limits<int>::max())
    throw std::invalid_argument("blocks: " + text_of(blocks) + " blocks of " + text_of(grid) +
                                " cells; along each axis at least 1 block and at most one for each "
                                "cell is needed, fewer than 2^31 in all");
  std::optional<decomposition> best;
  for_each_cut(blocks, parts, [&](triple p) {
    if (blocks.x % p.x != 0 || blocks.y % p.y != 0 || blocks.z % p.z != 0) return;
    const decomposition found{grid, blocks, p};
    if (!best || found.surface_of_parts() < best->surface_of_parts()) best = found;
  });
  if (!best) best = decomposition{grid, blocks};
  require_countable_faces(*best);
  return *best;
}

}  // namespace jacobi3d
