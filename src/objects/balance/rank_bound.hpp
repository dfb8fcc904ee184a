// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include <starling/objects/balance/snapshot.hpp>

/// Elements that may migrate between the workers of their rank only. Balancers see them as anchored
/// elements; a refinement within each rank follows.
namespace starling::balance {

/// Returns whether the snapshot has such elements.
[[nodiscard]] bool has_rank_bound(const snapshot& loads);

/// Returns the snapshot with these elements as anchored ones.
[[nodiscard]] snapshot with_rank_bound_anchored(const snapshot& loads);

/// Refines the assignment within each rank that has such elements and several workers. Moves the
/// other elements of the rank, too, but none to another rank.
void refine_within_ranks(const snapshot& loads, std::vector<std::uint32_t>& worker_of,
                         double tolerance);

}  // namespace starling::balance
