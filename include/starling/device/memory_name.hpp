// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace starling {

/// Who can read memory of a device where it lies, after device::export_memory.
enum class memory_reach : std::uint8_t {
  process,  ///< its own process only
  host      ///< processes of this host that use the same backend
};

/// What memory of a device is known by outside of the runtime that owns it: in other processes of
/// the host, and in other runtimes of this one. Bytes that may be sent as they are.
struct memory_name {
  std::uint64_t process = 0;     ///< the owner's process_number()
  std::uint64_t allocation = 0;  ///< never used again by that process
  std::uint64_t address = 0;     ///< in the owner's process
  std::uint64_t offset = 0;      ///< bytes from the beginning of the allocation
  memory_reach reach = memory_reach::process;
  std::array<char, 15> bus_id{};       ///< of the device, with zeros behind; empty: has none
  std::array<std::byte, 64> handle{};  ///< the backend's, for reach `host`
};

/// Distinguishes this process from all others, of all hosts.
[[nodiscard]] std::uint64_t process_number() noexcept;

}  // namespace starling
