// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>

namespace starling {

/// The kind of backend that a stream or device belongs to.
enum class backend_kind : std::uint8_t { host, cuda, sycl, kokkos };
inline constexpr std::size_t backend_kinds = 4;
[[nodiscard]] const char* to_string(backend_kind kind) noexcept;

/// Kinds of memory, by location and by the processors that can access it.
enum class memory_kind : std::uint8_t {
  host,    ///< pageable host memory, 64-byte aligned; copies from and to a device are slow
  pinned,  ///< page-locked host memory: the host and every device read and write it in place
  device   ///< the device's own memory; only its kernels and stream copies access it
};
inline constexpr std::size_t memory_kinds = 3;
[[nodiscard]] const char* to_string(memory_kind kind) noexcept;

/// How a runtime detects that device work is complete. Chosen per runtime
/// (`--starling-completion`).
enum class completion_kind : std::uint8_t {
  word,      ///< the device stores the mark's number in a completion word; workers load it
  event,     ///< an event per request; workers query the oldest event of each stream
  callback,  ///< the driver calls a host function, which makes the waiting coroutine ready
  block      ///< the worker waits in place: no overlap with other tasks; for comparison
};
[[nodiscard]] const char* to_string(completion_kind kind) noexcept;

/// Number of a device within its runtime, 0 ≤ value < device_set::count().
struct device_id {
  int value = 0;
  friend auto operator<=>(const device_id&, const device_id&) = default;
};

/// Number of a stream within its device, in order of creation.
struct stream_id {
  std::uint32_t value = 0;
  friend auto operator<=>(const stream_id&, const stream_id&) = default;
};

/// An index of a kernel's range. x varies fastest: neighbours in x are neighbours in memory.
struct index3 {
  int x = 0;
  int y = 0;
  int z = 0;
  friend bool operator==(const index3&, const index3&) = default;
};

/// As index3 with 64-bit coordinates, for kernels whose ranges have more than 2^31 − 1 indices in
/// a direction. On GPUs 64-bit coordinates need more registers and instructions.
struct wide_index3 {
  std::int64_t x = 0;
  std::int64_t y = 0;
  std::int64_t z = 0;
  friend bool operator==(const wide_index3&, const wide_index3&) = default;
};

/// Extent of a kernel: 0 ≤ x < nx, 0 ≤ y < ny, 0 ≤ z < nz. `range{n}` and `range{nx, ny}` accept
/// integers of any type, for example `range{data.size()}`. `submit` documents the valid extents.
struct range {
  std::int64_t nx = 0;
  std::int64_t ny = 1;
  std::int64_t nz = 1;

  constexpr range() noexcept = default;
  /// Converts each extent to 64 bits. An unsigned number above 2^63 − 1 becomes negative, which
  /// `submit` rejects.
  template <std::integral X, std::integral Y = int, std::integral Z = int>
  constexpr range(X x, Y y = 1, Z z = 1) noexcept
      : nx(static_cast<std::int64_t>(x)), ny(static_cast<std::int64_t>(y)),
        nz(static_cast<std::int64_t>(z)) {}

  /// Returns the number of indices. Overflows only for ranges that `submit` rejects.
  [[nodiscard]] constexpr std::int64_t size() const noexcept { return nx * ny * nz; }
  friend bool operator==(const range&, const range&) = default;
};

namespace detail {

/// Maps a native handle type to its backend, as `static constexpr backend_kind backend`.
/// Specialised by the header of device/interop that declares the handle type.
template <class Handle>
struct native_handle_of;

}  // namespace detail

/// Number of threads of a group, and the scratch memory that they share.
struct group_shape {
  int threads = 128;
  std::size_t scratch_bytes = 0;
};

}  // namespace starling
