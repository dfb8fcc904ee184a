// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>

namespace starling {

/// Which family of devices a stream belongs to.
enum class backend_kind : std::uint8_t { host, cuda, sycl, kokkos };
inline constexpr std::size_t backend_kinds = 4;
[[nodiscard]] const char* to_string(backend_kind kind) noexcept;

/// Where memory lies and who reaches it.
enum class memory_kind : std::uint8_t {
  host,    ///< pageable memory, 64-byte aligned; the processor's, slow to copy from a device
  pinned,  ///< page-locked memory: processor and every device read and write it in place
  device   ///< the device's own memory; only its kernels and stream copies touch it
};
inline constexpr std::size_t memory_kinds = 3;
[[nodiscard]] const char* to_string(memory_kind kind) noexcept;

/// How a runtime learns that device work is over. Chosen per runtime (`--starling-completion`).
enum class completion_kind : std::uint8_t {
  word,      ///< the device stores a sequence number in pinned memory; workers load it
  event,     ///< an event per request; workers query the oldest one of each stream
  callback,  ///< the driver calls a host function, which makes the waiting coroutine ready
  block      ///< the worker waits in place: no overlap with other tasks; for comparison
};
[[nodiscard]] const char* to_string(completion_kind kind) noexcept;

/// Position of a device among those of its runtime, 0 ≤ value < device_set::count().
struct device_id {
  int value = 0;
  friend auto operator<=>(const device_id&, const device_id&) = default;
};

/// Number of a stream among those of its device, in order of creation.
struct stream_id {
  std::uint32_t value = 0;
  friend auto operator<=>(const stream_id&, const stream_id&) = default;
};

/// One point of a kernel's range. x runs fastest: neighbours in x are neighbours in memory.
struct index3 {
  int x = 0;
  int y = 0;
  int z = 0;
  friend bool operator==(const index3&, const index3&) = default;
};

/// Extent of a kernel: 0 ≤ x < nx, 0 ≤ y < ny, 0 ≤ z < nz. `range{n}` and `range{nx, ny}` work.
struct range {
  int nx = 0;
  int ny = 1;
  int nz = 1;
  [[nodiscard]] constexpr std::int64_t size() const noexcept {
    return std::int64_t(nx) * std::int64_t(ny) * std::int64_t(nz);
  }
  friend bool operator==(const range&, const range&) = default;
};

/// Threads of a group and the scratch memory they share.
struct group_shape {
  int threads = 128;
  std::size_t scratch_bytes = 0;
};

}  // namespace starling
