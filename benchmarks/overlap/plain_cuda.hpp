// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "answer.hpp"
#include "physics/problems.hpp"

namespace overlap {

/// Parameters of a run on devices.
struct cuda_run {
  int gpus = 1;
  bool staged = false;   ///< faces are sent through pinned host memory, not between devices
  bool overlap = false;  ///< the interior is computed while faces are in flight
  long warmup = 0;
  long steps = 0;  ///< including the warm-up
};

/// Returns the number of devices; 0 if there is no device, no driver, or a driver that is too old.
[[nodiscard]] int device_count() noexcept;

/// Runs all steps, with a thread and a block for each device. @throws std::runtime_error that names
/// call, place and CUDA's message
[[nodiscard]] outcome solve_on_devices(const cuda_run& run, const jacobi3d::problem& start);

}  // namespace overlap
