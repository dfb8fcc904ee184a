// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cuda_run.hpp"

namespace by_hand {

/// 0 where there is no device, no driver or one that is too old.
[[nodiscard]] int device_count() noexcept;

/// All steps of a run, by one kernel on each of `run.gpus` devices. `spoilt`: with a wrong cell.
/// @throws std::invalid_argument if one device does not reach its neighbour's memory
/// @throws std::runtime_error that names call, place and CUDA's message, or a row that never came
[[nodiscard]] outcome steps_of_all(const cuda_run& run, const jacobi2d::problem& start,
                                   bool spoilt);

/// The same steps by one device, a kernel for each: `rows` rows for a block.
/// @throws std::runtime_error that names call, place and CUDA's message
[[nodiscard]] outcome kernel_alone(const cuda_run& run, int rows, const jacobi2d::problem& start,
                                   bool spoilt);

}  // namespace by_hand
