// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include <starling/device/recycling_allocator.hpp>
#include <starling/device/types.hpp>

/// Access of the host to memory of any kind, for the archive.
namespace starling {
class device;
}

namespace starling::detail {

/// Returns the device of the calling worker. @throws usage_error on a thread that is no worker; the
/// errors of `devices`
[[nodiscard]] device& device_here();
/// Returns its allocator. @throws as device_here
[[nodiscard]] recycling_allocator& allocator_here(memory_kind kind);

/// Calls `sink` with the bytes at `from`, piece by piece in order. Waits, on the calling worker,
/// until the work submitted to `order` (may be null) so far is over; other work must not write the
/// memory. @throws usage_error for device memory on a thread that is no worker; device_error when
/// the device is lost; the exceptions of `sink`
void read_memory(memory_kind kind, const void* from, std::size_t bytes, stream_state* order,
                 const std::function<void(std::span<const std::byte>)>& sink);

/// Copies `bytes` from host memory to memory of any kind, which no work uses. Waits until they are
/// there. @throws as read_memory
void write_memory(memory_kind kind, void* to, const std::byte* from, std::size_t bytes);

/// Copies `bytes` between device memory that the calling worker's device can access and that no
/// work uses. Waits until they are there. @throws as read_memory
void copy_memory(void* to, const void* from, std::size_t bytes);

/// Enables direct access if that is possible. Without it, copies between devices may go by way of
/// the host.
void try_to_reach(device& reader, device& owner) noexcept;

/// Waits until the work submitted to `order` (may be null) so far is over.
/// @throws device_error when the device is lost
void finish_work(stream_state* order);

}  // namespace starling::detail
