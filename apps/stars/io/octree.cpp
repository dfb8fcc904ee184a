// SPDX-License-Identifier: Apache-2.0
#include "io/octree.hpp"

#include <algorithm>
#include <array>

namespace stars {

namespace {

constexpr std::size_t cell(std::size_t x, std::size_t y, std::size_t z) {
  return x + node_edge * (y + node_edge * z);
}

/// Returns the mean of the 2^3 cells whose lowest corner is `first`. The sum is in ascending order,
/// so that mirror images and rotations of the data give the same bits.
double mean_of_8(const double* first) {
  std::array<double, 8> values{};
  for (std::size_t i = 0; i < 8; ++i) values[i] = first[cell(i & 1, (i >> 1) & 1, i >> 2)];
  std::sort(values.begin(), values.end());
  double sum = 0.0;
  for (const double value : values) sum += value;
  return 0.125 * sum;
}

/// Fills the octant of `parent` that a child covers, for one field.
void restrict_child(const double* child, double* parent, std::size_t octant) {
  constexpr std::size_t half = node_edge / 2;
  double* corner =
      parent + cell((octant & 1) * half, ((octant >> 1) & 1) * half, (octant >> 2) * half);
  for (std::size_t z = 0; z < half; ++z)
    for (std::size_t y = 0; y < half; ++y)
      for (std::size_t x = 0; x < half; ++x)
        corner[cell(x, y, z)] = mean_of_8(child + cell(2 * x, 2 * y, 2 * z));
}

}  // namespace

std::vector<double> restrict_level(std::span<const double> fine) {
  const std::size_t children = fine.size() / node_values;
  std::vector<double> coarse(children / 8 * node_values);
  for (std::size_t child = 0; child < children; ++child)
    for (std::size_t f = 0; f < stored_fields; ++f)
      restrict_child(&fine[child * node_values + f * node_cells],
                     &coarse[child / 8 * node_values + f * node_cells], child % 8);
  return coarse;
}

}  // namespace stars
