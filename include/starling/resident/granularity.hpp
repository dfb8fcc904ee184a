// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace starling::resident {

/// What of a device runs a scheduler: the threads that run an entry method together. The host's
/// threads stand for those of each, in as many blocks.
enum class granularity : std::uint8_t {
  block,    ///< a block of threads
  cluster,  ///< a cluster of blocks, on neighbouring multiprocessors
  device    ///< all blocks of the device, which has one scheduler
};
inline constexpr int granularities = 3;

/// How schedulers reach the memory of other devices.
enum class reach : std::uint8_t {
  mapped,  ///< it is mapped: by loads and stores
  /// By NVSHMEM, which copies: for devices that cannot map each other's memory. On the host a
  /// stand-in that copies as well.
  nvshmem
};

}  // namespace starling::resident
