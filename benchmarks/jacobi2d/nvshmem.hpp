// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "cuda_run.hpp"

namespace by_hand {

/// Address of the first PE, which the remaining PEs need to connect.
struct unique_id {
  static constexpr int size = 128;
  alignas(16) unsigned char bytes[size];
};

/// Opens the meeting point of the PEs in this process and writes its address to `id`.
void make(unique_id& id);

/// Parameters of a PE: a process with a GPU.
struct pe_run {
  cuda_run all;
  int pe = 0;
  unique_id id = {};
  std::function<void()> meet;  ///< waits for all PEs, on the host
};

/// Returns the number of devices; 0 without device or driver. The first CUDA call of a process.
[[nodiscard]] int device_count() noexcept;

/// Runs this PE's part of all steps of a run. `spoilt`: with a wrong cell.
/// @throws std::runtime_error that names call, place and message
[[nodiscard]] outcome steps_of_pe(const pe_run& run, const jacobi2d::problem& start, bool spoilt);

}  // namespace by_hand
