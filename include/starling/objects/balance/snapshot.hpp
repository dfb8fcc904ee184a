// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace starling::balance {

inline constexpr std::uint32_t no_device = std::numeric_limits<std::uint32_t>::max();

/// Measured load of one element. Seconds are those of one step on a worker and a device of speed 1.
struct element_load {
  std::uint64_t id = 0;              ///< unique in a snapshot; otherwise opaque
  std::uint32_t array = 0;           ///< number of the element's array
  std::uint32_t worker = 0;          ///< current worker, a position in `snapshot::workers`
  double host_seconds = 0;           ///< time on the worker, per step
  double device_seconds = 0;         ///< time on the worker's device, per step
  std::uint64_t state_bytes = 0;     ///< host memory that a migration sends
  std::uint64_t device_bytes = 0;    ///< device memory that the element occupies
  std::array<double, 3> position{};  ///< coordinates in any unit, if `has_position`
  bool has_position = false;
  bool is_anchored = false;       ///< the element must stay on its worker
  bool is_bound_to_rank = false;  ///< the element must stay on the workers of its rank
};

/// Messages of one element to another, per step.
struct traffic {
  std::uint32_t from = 0;  ///< position in `snapshot::elements`
  std::uint32_t to = 0;    ///< position in `snapshot::elements`
  double bytes = 0;
  double messages = 0;
};

struct worker_info {
  std::uint32_t rank = 0;
  std::uint32_t device =
      no_device;     ///< position in `snapshot::devices`; several workers may share it
  double speed = 1;  ///< relative; above 0
};

struct device_info {
  std::uint64_t memory_bytes = std::numeric_limits<std::uint64_t>::max();  ///< for elements
  double speed = 1;                                                        ///< relative; above 0
};

/// Costs of messages and of migrations. Zeros mean that a cost is ignored.
struct cost_model {
  double seconds_per_migration = 0;  ///< for each migrating element, at its source and destination
  double seconds_per_byte = 0;       ///< for each byte that leaves a rank, at both ends, too
  double bytes_per_second = 0;       ///< bandwidth of a rank for messages; 0: not limited
  double latency_seconds = 0;        ///< time of a rank for each message to or from another rank
};

/// The loads of all elements in one step, and the places where elements can be: the only input of a
/// balancer.
struct snapshot {
  std::vector<element_load> elements;
  std::vector<traffic> edges;
  std::vector<worker_info> workers;
  std::vector<device_info> devices;
  cost_model costs;
  double steps = 100;  ///< number of steps until the next balancing: how long a migration can pay

  /// Returns the number of ranks: the largest rank of a worker plus 1; 0 without workers.
  [[nodiscard]] std::uint32_t rank_count() const noexcept;
};

/// Checks positions, numbers and uniqueness of ids; linear in the size of the snapshot, but for the
/// ids, which are sorted unless they are in order.
/// @throws usage_error naming the first wrong entry and the expected value
void require_valid(const snapshot& loads);

/// Current worker of each element: the assignment before any migration.
[[nodiscard]] std::vector<std::uint32_t> current_workers(const snapshot& loads);

/// Predicted time of one step under an assignment of elements to workers. Host work, device work
/// and messages overlap, so that a step takes as long as the longest of the three.
struct estimate {
  double host_seconds = 0;     ///< largest sum of host seconds of a worker, divided by its speed
  double device_seconds = 0;   ///< largest sum of device seconds of a device, divided by its speed
  double network_seconds = 0;  ///< largest time of a rank for messages to and from other ranks
  double step_seconds = 0;     ///< the largest of the three
  /// Lower bound of the step time of any assignment: the mean host and device loads, and the
  /// largest element on the fastest worker and device.
  double ideal_seconds = 0;
  double bytes_between_ranks = 0;    ///< bytes of messages between ranks, per step
  std::uint64_t overfull_bytes = 0;  ///< device bytes beyond the memory of their devices

  /// Step time divided by the ideal; 1 without load.
  [[nodiscard]] double imbalance() const noexcept {
    return ideal_seconds > 0 ? step_seconds / ideal_seconds : 1;
  }
};

/// Computes the estimate for `worker_of`, which has the worker of each element; linear time. The
/// snapshot must be valid.
[[nodiscard]] estimate estimate_step(const snapshot& loads,
                                     std::span<const std::uint32_t> worker_of);

}  // namespace starling::balance
