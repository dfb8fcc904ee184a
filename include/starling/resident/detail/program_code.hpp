// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

#include <starling/resident/detail/world.hpp>

namespace starling::resident::detail {

/// A program's code for a device, entered before main by the file that compiled it. One object for
/// each program; the linker makes it unique.
struct program_code {
  /// Starts the schedulers of `device` on its own queue; 0 or the backend's error number. Refused
  /// where they do not all fit onto the device at once.
  using launcher = int (*)(const world& w, std::uint32_t device, int threads, void* native_stream);
  // Relaxed: the value is a function and leads to nothing that needs publishing.
  std::atomic<launcher> launch{nullptr};
};
template <class Program>
constinit inline program_code code_of;

}  // namespace starling::resident::detail
