// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdint>

#include "physics/decomposition.hpp"
#include "physics/problems.hpp"

namespace by_hand {

using jacobi2d::extent;

/// How a strip is distributed over a device.
struct launch_shape {
  int rounds = 1;      ///< parts of a strip for each resident block
  int blocks = 0;      ///< resident blocks of a multiprocessor; 0: as many as fit
  int spare_rows = 3;  ///< rows that a block beside a neighbour has less
};

/// Parameters of a run on devices.
struct cuda_run {
  int gpus = 1;
  long warmup = 10;
  long iterations = 0;
  launch_shape shape;

  [[nodiscard]] long steps() const { return warmup + iterations; }
};

/// Properties of a run's last state, combined from all strips.
struct answer {
  std::uint64_t checksum = 0;
  double error = 0.0;

  /// Keeps the larger error; NaN counts as larger than all numbers.
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
