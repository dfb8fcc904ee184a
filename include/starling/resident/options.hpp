// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <starling/resident/granularity.hpp>

namespace starling::resident {

/// Where the schedulers of a resident program run.
enum class place : std::uint8_t {
  host,   ///< host threads
  device  ///< the runtime's devices; the program must be compiled for them (`cuda::instantiate`)
};

/// Options of a resident program. All are checked when the program is made.
struct options {
  resident::place place = resident::place::host;
  /// Number of ranks that take part: this rank and the ranks after it, all on one host. Their
  /// devices are numbered consecutively; host tasks and host mailboxes belong to this rank.
  std::uint32_t ranks = 1;
  std::uint32_t devices = 1;     ///< of each rank; on the host: slabs, each with its own schedulers
  std::uint32_t schedulers = 4;  ///< of each device; on the host one thread each by default
  /// Threads of each block of a scheduler. 0: 128 on a device, one on the host. On a device a
  /// multiple of 32 up to 960, because 64 more threads in each block serve the scheduler; on the
  /// host at most 64 in all blocks.
  std::uint32_t threads = 0;
  /// Thread scope of a scheduler; the program must be compiled for it (`cuda::instantiate`). Where
  /// it is the whole device, `schedulers` must be 1.
  resident::granularity granularity = resident::granularity::block;
  /// Thread blocks of a scheduler. Of a cluster: 2, 4, 8 or 16 (16 only where the device allows it,
  /// and not with `multiprocessors`); of a whole device: at most 2048. 0: two for a cluster, one
  /// per multiprocessor for a device; on the host two for either.
  std::uint32_t group_blocks = 0;
  /// How schedulers reach the memory of other devices. Unless it is `mapped`, the program must be
  /// compiled for it: `nvshmem::instantiate`, on the host `host::instantiate_far`. With NVSHMEM a
  /// rank has one device, and all such programs of a process must have the same ranks.
  resident::reach reach = resident::reach::mapped;
  /// Bytes that `reach::nvshmem` reserves on each device for all programs that use it, when the
  /// first one starts. That waits for all kernels of the device, so start it before other programs.
  std::uint64_t symmetric_bytes = std::uint64_t{256} << 20;
  /// Slots of each ring, a power of two. A scheduler has one ring per source device, and eight
  /// private rings with up to 32 slots each for frequent senders.
  std::uint32_t ring_slots = 64;
  /// Messages that a scheduler can keep; an entry method may send a quarter as many.
  std::uint32_t cells = 1024;
  std::uint32_t blocks = 8;          ///< for spans: of each scheduler per source device, at most 64
  std::uint32_t block_bytes = 4096;  ///< longest span of a message
  std::uint64_t heap_bytes = 1 << 20;  ///< of each scheduler: channels, `allocate`, waiting spans
  double stall_seconds = 2;            ///< how long a sender waits for room before the program ends
  /// Latest records of each scheduler that are kept for the timeline, where the runtime has a
  /// timeline; a power of two.
  std::uint32_t trace_records = 4096;
  /// Least number of multiprocessors of each device that are set apart for its schedulers; streams
  /// of `system::beside` use the remaining ones. 0: the schedulers use all. No effect on the host.
  std::uint32_t multiprocessors = 0;
};

}  // namespace starling::resident
