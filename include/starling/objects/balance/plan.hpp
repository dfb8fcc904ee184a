// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <starling/objects/balance/snapshot.hpp>

namespace starling::balance {

/// Why an element migrates: the first reason that holds, in this order.
enum class reason : std::uint8_t {
  device_memory,  ///< the device of its worker has less memory than its elements need
  device_load,    ///< the device of its worker has more than the mean device load
  host_load,      ///< its worker has more than the mean host load
  communication,  ///< it sends fewer bytes between ranks at its destination
  rearrangement  ///< it makes room for another element, or its part of space went to another worker
};

struct migration {
  std::uint32_t element = 0;  ///< position in `snapshot::elements`
  std::uint64_t id = 0;
  std::uint32_t from = 0;  ///< worker
  std::uint32_t to = 0;    ///< worker
  reason why = reason::rearrangement;
};

/// Why a plan has or has no migrations.
enum class verdict : std::uint8_t {
  migrate,         ///< the migrations pay
  balanced,        ///< the step time is within the tolerance of the ideal
  nothing_better,  ///< the balancer found no assignment that is better by the minimum gain
  does_not_pay     ///< the migrations cost more than they gain until the next balancing
};

/// Result of a balancer.
struct plan {
  std::vector<migration> migrations;  ///< in order of `element`
  verdict decision = verdict::balanced;
  estimate before;
  estimate after;  ///< with the migrations; as `before` without any
  /// Time of the migrations: the largest sum over the migrations from and to one worker. Of a
  /// plan that does not pay, the time that its migrations would have taken.
  double cost_seconds = 0;
  std::uint64_t bytes = 0;  ///< state and device memory that leave a rank, of `migrations`
};

[[nodiscard]] std::string_view name_of(reason why) noexcept;
[[nodiscard]] std::string_view name_of(verdict decision) noexcept;

/// Returns one sentence: the element, both workers with their ranks, and the reason with figures.
[[nodiscard]] std::string describe(const snapshot& loads, const migration& move);
/// As above; `element` names the element.
[[nodiscard]] std::string describe(const snapshot& loads, const migration& move,
                                   std::string_view element);
/// Returns one sentence: the decision, with step times, gain and cost.
[[nodiscard]] std::string describe(const snapshot& loads, const plan& result);

/// Returns the bytes of an element that leave a rank if it migrates to worker `to`; 0 between
/// workers of one rank that have the same device.
[[nodiscard]] std::uint64_t bytes_sent(const snapshot& loads, std::uint32_t element,
                                       std::uint32_t to) noexcept;

}  // namespace starling::balance
