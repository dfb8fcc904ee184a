// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdint>

#include "physics/decomposition.hpp"
#include "physics/problems.hpp"

namespace by_hand {

using jacobi2d::extent;

/// How a strip is spread over a device.
struct launch_shape {
  int rounds = 1;      ///< parts for each resident block
  int blocks = 0;      ///< of a multiprocessor; 0: as many as fit
  int spare_rows = 3;  ///< that a block beside a neighbour has less
};

/// What a run on devices is told.
struct cuda_run {
  int gpus = 1;
  long warmup = 10;
  long iterations = 0;
  launch_shape shape;

  [[nodiscard]] long steps() const { return warmup + iterations; }
};

/// What a run knows of its last state, from all strips together.
struct answer {
  std::uint64_t checksum = 0;
  double error = 0.0;

  /// The largest error stays, and one that is not a number is larger than all others.
  void add(const answer& other) {
    checksum += other.checksum;
    if (!std::isnan(error) && !(other.error <= error)) error = other.error;
  }
};

struct outcome {
  double seconds = 0.0;  ///< of the timed steps
  answer found;
};

}  // namespace by_hand
