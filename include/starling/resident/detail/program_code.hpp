// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include <starling/resident/detail/group_shape.hpp>
#include <starling/resident/detail/world.hpp>

namespace starling::resident::detail {

class host_scheduler;

/// The result of starting schedulers.
struct launch_result {
  int error = 0;  // of the backend; 0: none
  int most = 0;   // schedulers that would fit, where not all fit; 0: unknown
};

/// A program's code for a device, entered before main by the file that compiled it. One object for
/// each program; the linker makes it unique.
struct program_code {
  /// Starts the schedulers of `device` on `native_stream`. Returns an error if they do not all fit
  /// onto the device at once.
  using launcher = launch_result (*)(const world& w, std::uint32_t device, const group_shape& shape,
                                     void* native_stream);
  using host_maker = std::unique_ptr<host_scheduler> (*)(const world& w, std::uint32_t self,
                                                         const group_shape& shape);
  // Relaxed: the values are pointers to functions and publish no data.
  std::atomic<launcher> launch[granularities]{};  // by granularity
  // Code for memory of other devices that is not mapped: on the host, and on a device.
  std::atomic<host_maker> make_far{nullptr};
  std::atomic<launcher> launch_far{nullptr};
};
template <class Program>
constinit inline program_code code_of;

}  // namespace starling::resident::detail
