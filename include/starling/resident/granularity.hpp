// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace starling::resident {

/// The thread scope of a scheduler: the device threads that run an entry method together. On the
/// host, threads replace each scope, divided into the same number of blocks.
enum class granularity : std::uint8_t {
  block,    ///< a block of threads
  cluster,  ///< a cluster of blocks, on neighbouring multiprocessors
  device    ///< all blocks of the device, which then has one scheduler
};
inline constexpr int granularities = 3;

/// How schedulers access the memory of other devices.
enum class reach : std::uint8_t {
  mapped,  ///< by loads and stores: the memory is mapped
  /// By copies with NVSHMEM, for devices that cannot map each other's memory. On the host, a
  /// stand-in that also copies.
  nvshmem
};

}  // namespace starling::resident
