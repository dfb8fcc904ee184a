// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cuda_run.hpp"

namespace by_hand {

/// Returns the number of devices; 0 if there is no device, no driver, or a driver that is too old.
[[nodiscard]] int device_count() noexcept;

/// Runs all steps, by one kernel on each of `run.gpus` devices. `spoilt`: with a wrong cell.
/// @throws std::invalid_argument if a device cannot access its neighbour's memory
/// @throws std::runtime_error that names call, place and CUDA's message, or a row that never came
[[nodiscard]] outcome steps_of_all(const cuda_run& run, const jacobi2d::problem& start,
                                   bool spoilt);

/// Runs the same steps on one device, with a kernel for each step: `rows` rows for a block.
/// @throws std::runtime_error that names call, place and CUDA's message
[[nodiscard]] outcome kernel_alone(const cuda_run& run, int rows, const jacobi2d::problem& start,
                                   bool spoilt);

}  // namespace by_hand
