// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <starling/core/options.hpp>
#include <starling/device/device.hpp>
#include <starling/device/types.hpp>

namespace starling::detail {

enum class backend_choice { automatic, host, cuda, sycl, kokkos };

/// How ranks of one host use each other's device memory: it is mapped and read in place, copied
/// through pinned memory, or exported and then refused on import, as if the driver had refused.
enum class peer_memory : std::uint8_t { map, stage, refuse };

/// The device module's options, checked.
struct device_options {
  backend_choice backend = backend_choice::automatic;
  completion_kind completion = completion_kind::word;
  device_mapping mapping = device_mapping::block;
  std::size_t streams = 16;  // per pool
  std::vector<int> which;    // chosen devices; empty: the first `count`
  int count = 0;             // 0: all
  int share = 0;             // number of this rank's share; used for CUDA devices only
  int shares = 0;            // 0: no shares
  bool barriers = false;     // redundant barriers between operations of a stream
  peer_memory memory = peer_memory::map;

  /// Returns this rank's share of `present` devices: devices that no other rank uses, or one device
  /// shared with other ranks if there are fewer devices than shares.
  [[nodiscard]] std::vector<int> devices_of_share(int present) const;
  /// Reads and checks the options. @throws option_error naming option, value and accepted values
  [[nodiscard]] static device_options read(const runtime_options& options);
};

/// Returns the device index of each worker. `worker_cores[w]` is the processor that worker w is
/// bound to, −1 unknown; `nearby_cores[d]` the processors close to device d. At least one device.
[[nodiscard]] std::vector<std::size_t> map_workers(
    device_mapping how, const std::vector<int>& worker_cores,
    const std::vector<std::vector<int>>& nearby_cores);

/// Returns the processor that each worker is bound to, −1 for an unbound worker.
[[nodiscard]] std::vector<int> cores_of_workers(const runtime_options& options, unsigned workers);

}  // namespace starling::detail
