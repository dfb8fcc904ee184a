// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include <starling/core/error.hpp>
#include <starling/device/device.hpp>
#include <starling/device/kernel.hpp>
#include <starling/device/types.hpp>

/// Argument checks shared by streams and sequences. `require_…` throw usage_error; their first
/// parameter names the class in the message.
namespace starling::detail {

/// Most indices of one range: less than 2^63, so that sums of sizes and positions do not overflow.
inline constexpr std::int64_t most_indices = std::int64_t(1) << 62;

[[nodiscard]] inline bool has_too_many_indices(const range& extent) noexcept {
  std::int64_t size = 0;
  return __builtin_mul_overflow(extent.nx, extent.ny, &size) ||
         __builtin_mul_overflow(size, extent.nz, &size) || size > most_indices;
}

/// Checks the extent of a kernel that takes up to `most` indices in each direction (at least
/// 2^31 − 1).
inline void require_extent(const char* caller, const range& extent, kernel_entry& entry,
                           std::int64_t most) {
  // No extent is negative, and each is below 2^20, so that the product is small enough.
  const auto any_bits = static_cast<std::uint64_t>(extent.nx | extent.ny | extent.nz);
  if (any_bits < std::uint64_t(1) << 20) [[likely]]
    return;
  const auto [least, largest] = std::minmax({extent.nx, extent.ny, extent.nz});
  const bool is_empty = least == 0;
  if (least >= 0 && largest <= most && (is_empty || !has_too_many_indices(extent))) return;
  const std::string begin = std::string(caller) + "::submit: kernel " + entry.name() + " over " +
                            std::to_string(extent.nx) + " x " + std::to_string(extent.ny) + " x " +
                            std::to_string(extent.nz) + ": ";
  if (least < 0) throw usage_error(begin + "negative extent, or one beyond 2^63 - 1");
  if (largest <= most) throw usage_error(begin + "more than 2^62 indices");
  throw usage_error(begin + "the index of the kernel has numbers up to " + std::to_string(most) +
                    ": let an index kernel take starling::wide_index3 (or state it as index_type), "
                    "or spread the range over more directions");
}

inline void require_sizes(const char* caller, std::size_t to, std::size_t from) {
  if (to == from) return;
  throw usage_error(std::string(caller) + "::copy: destination has " + std::to_string(to) +
                    " elements, source " + std::to_string(from));
}

inline void require_scratch(const char* caller, const kernel_call& call, const device& target) {
  const device_properties& p = target.properties();
  if (call.shape.scratch_bytes <= p.group_scratch_bytes) return;
  throw usage_error(std::string(caller) + "::submit: kernel " + call.entry->name() + " asks for " +
                    std::to_string(call.shape.scratch_bytes) +
                    " bytes of scratch memory for a group, and " + p.name + " has " +
                    std::to_string(p.group_scratch_bytes) +
                    ": let groups share less, or choose another kernel for this device");
}

}  // namespace starling::detail
