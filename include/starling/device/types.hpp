// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <concepts>
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

/// The same with 64-bit numbers, for kernels whose ranges have more than 2^31 − 1 indices in a
/// direction. On GPUs 64-bit numbers take more registers and instructions.
struct wide_index3 {
  std::int64_t x = 0;
  std::int64_t y = 0;
  std::int64_t z = 0;
  friend bool operator==(const wide_index3&, const wide_index3&) = default;
};

/// Extent of a kernel: 0 ≤ x < nx, 0 ≤ y < ny, 0 ≤ z < nz. `range{n}` and `range{nx, ny}` work with
/// integers of any type, so `range{data.size()}` does. `submit` says which extents it takes.
struct range {
  std::int64_t nx = 0;
  std::int64_t ny = 1;
  std::int64_t nz = 1;

  constexpr range() noexcept = default;
  /// An unsigned number beyond 2^63 − 1 becomes negative, which `submit` refuses.
  template <std::integral X, std::integral Y = int, std::integral Z = int>
  constexpr range(X x, Y y = 1, Z z = 1) noexcept
      : nx(static_cast<std::int64_t>(x)), ny(static_cast<std::int64_t>(y)),
        nz(static_cast<std::int64_t>(z)) {}

  /// Number of indices. Overflows for ranges that `submit` refuses.
  [[nodiscard]] constexpr std::int64_t size() const noexcept { return nx * ny * nz; }
  friend bool operator==(const range&, const range&) = default;
};

namespace detail {

/// Which backend's streams a vendor's handle stands for. Defined by the header of device/interop
/// that names the handle, as `static constexpr backend_kind backend`.
template <class Handle>
struct native_handle_of;

}  // namespace detail

/// Threads of a group and the scratch memory they share.
struct group_shape {
  int threads = 128;
  std::size_t scratch_bytes = 0;
};

}  // namespace starling
