// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "cuda_run.hpp"

namespace by_hand {

/// What the first PE tells the others so that they find it.
struct unique_id {
  static constexpr int size = 128;
  alignas(16) unsigned char bytes[size];
};

/// Opens the place where the others will come, in this process.
void make(unique_id& id);

/// A PE: a process with a GPU.
struct pe_run {
  cuda_run all;
  int pe = 0;
  unique_id id = {};
  std::function<void()> meet;  ///< with the other PEs, on the host
};

/// Before anything else in a process. 0 where there is no device or no driver.
[[nodiscard]] int device_count() noexcept;

/// This PE's part of all steps of a run. `spoilt`: with a wrong cell.
/// @throws std::runtime_error that names call, place and message
[[nodiscard]] outcome steps_of_pe(const pe_run& run, const jacobi2d::problem& start, bool spoilt);

}  // namespace by_hand
