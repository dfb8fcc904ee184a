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

/// What becomes of memory of devices between ranks of a host: it is read where it lies, goes by way
/// of pinned memory, or is offered and refused, as where the driver says no.
enum class peer_memory : std::uint8_t { map, stage, refuse };

/// The device module's options, checked.
struct device_options {
  backend_choice backend = backend_choice::automatic;
  completion_kind completion = completion_kind::word;
  device_mapping mapping = device_mapping::block;
  std::size_t streams = 16;  // per pool
  std::vector<int> which;    // chosen devices; empty: the first `count`
  int count = 0;             // 0: all
  int share = 0;             // of `shares` even ones, of CUDA's devices; the host has one for each
  int shares = 0;            // 0: no shares
  bool barriers = false;     // between operations of a stream
  peer_memory memory = peer_memory::map;

  /// What `which` is for a share of so many devices: some of one's own, or one with others.
  [[nodiscard]] std::vector<int> devices_of_share(int present) const;
  /// @throws option_error naming option, value and what is accepted
  [[nodiscard]] static device_options read(const runtime_options& options);
};

/// Device of each worker. `worker_cores[w]` is the processor that worker w is bound to, −1 unknown;
/// `nearby_cores[d]` the processors close to device d. At least one device.
[[nodiscard]] std::vector<std::size_t> map_workers(
    device_mapping how, const std::vector<int>& worker_cores,
    const std::vector<std::vector<int>>& nearby_cores);

/// Processors to which the workers of `owner` are bound, −1 where they are not.
[[nodiscard]] std::vector<int> cores_of_workers(const runtime_options& options, unsigned workers);

}  // namespace starling::detail
