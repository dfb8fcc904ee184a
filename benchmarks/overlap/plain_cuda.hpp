// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "answer.hpp"
#include "physics/problems.hpp"

namespace overlap {

/// What a run on devices is told.
struct cuda_run {
  int gpus = 1;
  bool staged = false;   ///< faces travel through pinned memory of the host, not between devices
  bool overlap = false;  ///< the interior is computed while faces are on their way
  long warmup = 0;
  long steps = 0;  ///< with the warm-up
};

/// 0 where there is no device, no driver or one that is too old.
[[nodiscard]] int device_count() noexcept;

/// All steps of a run, a thread and a block for each device.
/// @throws std::runtime_error that names call, place and CUDA's message
[[nodiscard]] outcome solve_on_devices(const cuda_run& run, const jacobi3d::problem& start);

}  // namespace overlap
