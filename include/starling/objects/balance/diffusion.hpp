// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace starling::balance {

/// The parts of diffusive balancing that run on each worker alone. In each round a worker exchanges
/// loads with two partners and sends elements to those that have less. A driver without a central
/// rank sends the loads and the elements as messages; the balancer `diffusion` calls the same
/// functions for all workers in turn.
namespace diffusion {

/// Host and device load of a worker or an element, in seconds of a step.
struct load_pair {
  double host = 0;
  double device = 0;
};

/// Partners of `worker` in `round`, among `workers`: those at a distance of 2ᵏ on a ring, where 2ᵏ
/// begins at the largest power of two below `workers`, is halved in each round, and begins again
/// after 1. A worker thus has few partners, and a load spreads over all workers in log₂ `workers`
/// rounds. Both partners are the same worker if the distance is half of `workers`; the flow to it
/// then counts twice. They are `worker` itself if there is no other.
[[nodiscard]] std::array<std::uint32_t, 2> partners(std::uint32_t worker, std::uint32_t workers,
                                                    unsigned round) noexcept;

/// Load that a worker sends to a partner in one round: a quarter of the difference, for each kind
/// of load for which it has more; 0 for the remaining kinds.
[[nodiscard]] load_pair flow(const load_pair& mine, const load_pair& partners_load) noexcept;

/// Chooses elements whose loads together come near `wanted`: from the largest load on, each element
/// that lessens the distance to it. `candidates` has the loads of the elements; the result has
/// positions in it, in the order of choice. Elements that `is_taken` marks are left out; chosen
/// elements are marked.
[[nodiscard]] std::vector<std::uint32_t> choose(std::span<const load_pair> candidates,
                                                load_pair wanted, std::vector<bool>& is_taken);

}  // namespace diffusion
}  // namespace starling::balance
