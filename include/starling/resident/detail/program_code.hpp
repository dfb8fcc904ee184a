// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include <starling/resident/detail/group_shape.hpp>
#include <starling/resident/detail/world.hpp>

namespace starling::resident::detail {

class host_scheduler;

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
  using host_maker = std::unique_ptr<host_scheduler> (*)(const world& w, std::uint32_t self,
                                                         const group_shape& shape);
  // Relaxed: the values are functions and lead to nothing that needs publishing.
  std::atomic<launcher> launch[granularities]{};  // by granularity
  // Where memory of other devices is not mapped: on the host; on a device.
  std::atomic<host_maker> make_far{nullptr};
  std::atomic<launcher> launch_far{nullptr};
};
template <class Program>
constinit inline program_code code_of;

}  // namespace starling::resident::detail
