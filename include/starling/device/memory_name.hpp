// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace starling {

/// The processes that can read exported device memory in place (see device::export_memory).
enum class memory_reach : std::uint8_t {
  process,  ///< the owner's process only
  host      ///< processes of this host that use the same backend
};

/// Identifies memory of a device outside the runtime that owns it: in other processes of the host
/// and in other runtimes of this process. Trivially copyable: may be sent as bytes.
struct memory_name {
  std::uint64_t process = 0;     ///< the owner's process_number()
  std::uint64_t allocation = 0;  ///< number of the allocation, never reused by that process
  std::uint64_t address = 0;     ///< address in the owner's process
  std::uint64_t offset = 0;      ///< bytes from the beginning of the allocation
  memory_reach reach = memory_reach::process;
  std::array<char, 15> bus_id{};       ///< PCI address, zero-padded; empty: the device has none
  std::array<std::byte, 64> handle{};  ///< the backend's IPC handle, for reach `host`
};

/// Returns a number that identifies this process among all processes of all hosts (64 random bits,
/// combined with the process id so that it changes after a fork).
[[nodiscard]] std::uint64_t process_number() noexcept;

}  // namespace starling
