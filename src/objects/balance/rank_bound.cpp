// SPDX-License-Identifier: Apache-2.0
#include "rank_bound.hpp"

#include <algorithm>

#include "improver.hpp"

namespace starling::balance {
namespace {

/// The workers of one rank, and the elements on them.
struct part {
  snapshot loads;
  std::vector<std::uint32_t> workers, elements;  // their positions in the whole snapshot
};

part part_of(const snapshot& loads, const std::vector<std::uint32_t>& worker_of,
             std::uint32_t rank) {
  part p;
  std::vector<std::uint32_t> position(loads.workers.size());
  for (std::uint32_t w = 0; w < loads.workers.size(); ++w) {
    if (loads.workers[w].rank != rank) continue;
    position[w] = std::uint32_t(p.workers.size());
    p.workers.push_back(w);
    p.loads.workers.push_back(loads.workers[w]);
  }
  p.loads.devices = loads.devices;
  for (std::uint32_t e = 0; e < loads.elements.size(); ++e) {
    const element_load& load = loads.elements[e];
    const worker_info& at = loads.workers[worker_of[e]];
    if (at.rank == rank) {
      p.elements.push_back(e);
      p.loads.elements.push_back(load);
      p.loads.elements.back().worker = position[worker_of[e]];
    } else if (at.device != no_device) {  // shared with other ranks
      std::uint64_t& room = p.loads.devices[at.device].memory_bytes;
      room -= std::min(room, load.device_bytes);
    }
  }
  return p;
}

bool can_move(const element_load& e) noexcept { return e.is_bound_to_rank && !e.is_anchored; }

}  // namespace

bool has_rank_bound(const snapshot& loads) { return std::ranges::any_of(loads.elements, can_move); }

snapshot with_rank_bound_anchored(const snapshot& loads) {
  snapshot fixed = loads;
  for (element_load& e : fixed.elements) e.is_anchored = e.is_anchored || e.is_bound_to_rank;
  return fixed;
}

void refine_within_ranks(const snapshot& loads, std::vector<std::uint32_t>& worker_of,
                         double tolerance) {
  for (std::uint32_t rank = 0; rank < loads.rank_count(); ++rank) {
    const part p = part_of(loads, worker_of, rank);
    if (p.workers.size() < 2 || std::ranges::none_of(p.loads.elements, can_move)) continue;
    std::vector<std::uint32_t> now = current_workers(p.loads);
    const double ideal = estimate_step(p.loads, now).ideal_seconds;
    now = refined(p.loads, std::move(now), ideal, tolerance);
    for (std::size_t i = 0; i < now.size(); ++i) worker_of[p.elements[i]] = p.workers[now[i]];
  }
}

}  // namespace starling::balance
