// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdint>

#include "physics/decomposition.hpp"

namespace overlap {

using jacobi3d::block_layout;
using jacobi3d::decomposition;
using jacobi3d::face;
using jacobi3d::face_count;
using jacobi3d::face_of;
using jacobi3d::offset;
using jacobi3d::triple;

/// Properties of a run's last state, combined from all blocks.
struct answer {
  std::uint64_t checksum = 0;
  double error = 0.0;

  /// Keeps the larger error; NaN counts as larger than all numbers.
  void add_error(double other) {
    if (!std::isnan(error) && !(other <= error)) error = other;
  }
  void add(const answer& other) {
    checksum += other.checksum;
    add_error(other.error);
  }
};

struct outcome {
  double seconds = 0.0;  ///< of the timed steps
  answer found;
};

}  // namespace overlap
