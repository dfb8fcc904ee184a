// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include <starling/core/runtime.hpp>

/// What load balancing needs to know of devices.
namespace starling::detail {

/// Adds the device time of work that is over to the accounts of its elements. No effect if `rt` has
/// not opened its devices. Any thread; queries the driver.
void settle_device_times(runtime& rt);

/// The device of a worker.
struct worker_device {
  std::uint64_t key = 0;  ///< equal for workers of one device, also in different processes
  std::uint64_t memory_bytes = 0;
};

/// Returns the device of each worker; empty if `rt` has not opened its devices.
[[nodiscard]] std::vector<worker_device> devices_of_workers(runtime& rt);

}  // namespace starling::detail
