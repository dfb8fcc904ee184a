// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

/// Measured loads of the elements of chare arrays.
namespace starling {

/// An element of any array, as the source and destination of traffic.
struct element_number {
  std::uint64_t array = 0;  ///< id of the array, the same on all ranks
  /// Number of the element in the array's shape; of a sparse array, the hash of the index, so that
  /// elements with equal hashes have one number.
  std::uint64_t element = 0;
  friend bool operator==(const element_number&, const element_number&) = default;
};

/// Messages that one element has sent to another since the last reset. A send on a channel counts
/// as one message. Broadcasts and messages to sections are not counted.
struct sent_traffic {
  element_number to;
  std::uint64_t messages = 0;
  /// Between ranks the bytes of the messages. Within a rank the bytes of the argument objects,
  /// without memory that they own elsewhere. On channels the bytes of the sent memory.
  std::uint64_t bytes = 0;
};

/// Load of one element since its measurement began or was last reset; see
/// `chare_array::measure_loads`.
///
/// A chare type may have these public members, which supply its load, position and memory:
///
///     double load() const;                        // replaces host_seconds; in seconds
///     double device_load() const;                 // replaces device_seconds; in seconds
///     std::array<double, 3> coordinates() const;  // position, in any unit
///     std::uint64_t state_bytes() const;          // host memory that a migration sends
///     std::uint64_t device_bytes() const;         // device memory that the element occupies
struct load_measurement {
  /// Time of the element's entry methods and coroutines on workers, without the time for which they
  /// were suspended; the result of `load()` if the chare has it.
  double host_seconds = 0;
  /// Time for which kernels, copies, fills and graphs that the element has submitted occupied
  /// devices, of work that was over when the load was read. At each moment the time of a device is
  /// divided equally among the elements whose work it runs, members of an aggregator's batch
  /// included; so the sum over the elements of a rank is the time for which a device was busy with
  /// them. Not measured: work submitted to native handles, resident programs, SYCL devices. The
  /// result of `device_load()` if the chare has it.
  double device_seconds = 0;
  /// Time in which a device ran work of the element, not divided.
  double device_elapsed_seconds = 0;
  std::uint64_t messages = 0;        ///< received messages to entry methods, broadcasts included
  std::uint64_t sent_messages = 0;   ///< sum over all destinations
  std::uint64_t sent_bytes = 0;      ///< sum over all destinations
  std::uint64_t state_bytes = 0;     ///< 0 without a member of this name
  std::uint64_t device_bytes = 0;    ///< 0 without a member of this name
  std::array<double, 3> position{};  ///< result of `coordinates()`
  bool has_position = false;         ///< the chare has `coordinates()`
  bool is_modelled = false;          ///< the chare has `load()`
  bool is_device_modelled = false;   ///< the chare has `device_load()`
};

}  // namespace starling
