// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

#include <starling/resident/detail/group_shape.hpp>
#include <starling/resident/detail/world.hpp>

namespace starling::resident::detail {

/// How schedulers were started.
struct launch_result {
  int error = 0;  // the backend's number
  int most = 0;   // schedulers that would fit where they did not; 0: it is not known
};

/// A program's code for a device, entered before main by the file that compiled it. One object for
/// each program; the linker makes it unique.
struct program_code {
  /// Starts the schedulers of `device` on its own queue. Refused where they do not all fit onto the
  /// device at once.
  using launcher = launch_result (*)(const world& w, std::uint32_t device, const group_shape& shape,
                                     void* native_stream);
  // By granularity. Relaxed: the value is a function and leads to nothing that needs publishing.
  std::atomic<launcher> launch[granularities]{};
};
template <class Program>
constinit inline program_code code_of;

}  // namespace starling::resident::detail
