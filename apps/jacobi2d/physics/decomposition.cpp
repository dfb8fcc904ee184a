// SPDX-License-Identifier: Apache-2.0
#include "decomposition.hpp"

#include <stdexcept>
#include <string>

namespace jacobi2d {

decomposition decompose(extent grid, int strips) {
  if (grid.x < 1 || grid.y < 1)
    throw std::invalid_argument("grid: " + std::to_string(grid.x) + " x " + std::to_string(grid.y) +
                                " cells; each extent must be at least 1");
  if (strips < 1)
    throw std::invalid_argument("strips: " + std::to_string(strips) + "; at least 1 is needed");
  if (strips > grid.y)
    throw std::invalid_argument("grid: " + std::to_string(grid.y) + " rows cannot be cut into " +
                                std::to_string(strips) + " strips; take more rows or fewer strips");
  return {grid, strips};
}

}  // namespace jacobi2d
