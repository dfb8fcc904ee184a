// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

#include <starling/core/error.hpp>
#include <starling/device/device.hpp>
#include <starling/device/kernel.hpp>
#include <starling/device/types.hpp>

/// Checks that streams and sequences share; `who` is the class in the message.
namespace starling::detail {

inline void require_extent(const char* who, const range& extent) {
  if (extent.nx >= 0 && extent.ny >= 0 && extent.nz >= 0) return;
  throw usage_error(std::string(who) + "::submit: negative extent " + std::to_string(extent.nx) +
                    " x " + std::to_string(extent.ny) + " x " + std::to_string(extent.nz));
}

inline void require_sizes(const char* who, std::size_t to, std::size_t from) {
  if (to == from) return;
  throw usage_error(std::string(who) + "::copy: destination has " + std::to_string(to) +
                    " elements, source " + std::to_string(from));
}

inline void require_scratch(const char* who, const kernel_call& call, const device& where) {
  const device_properties& p = where.properties();
  if (call.shape.scratch_bytes <= p.group_scratch_bytes) return;
  throw usage_error(std::string(who) + "::submit: kernel " + call.entry->name() + " asks for " +
                    std::to_string(call.shape.scratch_bytes) +
                    " bytes of scratch memory for a group, and " + p.name + " has " +
                    std::to_string(p.group_scratch_bytes) +
                    ": let groups share less, or choose another kernel for this device");
}

}  // namespace starling::detail
