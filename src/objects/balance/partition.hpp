// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include <starling/objects/balance/balancer.hpp>

#include "load_state.hpp"

namespace starling::balance {

/// Elements that a partition of space distributes, and what each worker should receive.
struct partition_problem {
  const snapshot& loads;
  std::vector<std::uint32_t> elements;  ///< with a position and not anchored
  std::vector<double> weights;       ///< of them: share of all host load plus that of device load
  std::vector<std::uint32_t> order;  ///< workers, by rank
  std::vector<double> capacities;    ///< of the workers in `order`: weight beside fixed elements
};

/// A balancer that divides the elements by their coordinates. Elements without coordinates stay
/// where they are, unless the balance requires their migration.
class partition_balancer : public balancer {
 public:
  using balancer::balancer;

 protected:
  void assign(const snapshot& loads, std::vector<std::uint32_t>& worker_of) const final;
  /// Returns the part of each element of `problem.elements`; part i is for worker `order[i]`.
  [[nodiscard]] virtual std::vector<std::uint32_t> divide(
      const partition_problem& problem) const = 0;
};

/// Moves the elements to the workers that `wanted` names, as far as memory allows; several passes,
/// because a migration can make room for another.
void move_all(load_state& state, const std::vector<std::uint32_t>& wanted);

}  // namespace starling::balance
