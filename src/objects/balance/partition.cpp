// SPDX-License-Identifier: Apache-2.0
#include "partition.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "improver.hpp"

namespace starling::balance {
namespace {

partition_problem make_problem(const snapshot& loads) {
  partition_problem problem{loads, {}, {}, {}, {}};
  double host = 0, device = 0, speed = 0;
  for (const element_load& e : loads.elements) {
    host += e.host_seconds;
    device += e.device_seconds;
  }
  for (const worker_info& w : loads.workers) speed += w.speed;
  const double for_host = host > 0 ? 1 / host : 0, for_device = device > 0 ? 1 / device : 0;
  problem.order.resize(loads.workers.size());
  std::iota(problem.order.begin(), problem.order.end(), 0U);
  std::ranges::stable_sort(problem.order, {}, [&](auto w) { return loads.workers[w].rank; });

  std::vector<double> fixed(loads.workers.size());
  double total = 0;
  for (std::uint32_t e = 0; e < loads.elements.size(); ++e) {
    const element_load& load = loads.elements[e];
    const double weight = load.host_seconds * for_host + load.device_seconds * for_device;
    total += weight;
    if (load.is_anchored || !load.has_position) {
      fixed[load.worker] += weight;
    } else {
      problem.elements.push_back(e);
      problem.weights.push_back(weight);
    }
  }
  for (const std::uint32_t w : problem.order) {
    const double share = total * loads.workers[w].speed / speed;
    problem.capacities.push_back(std::max(0.0, share - fixed[w]));
  }
  return problem;
}

/// Memory of a part that is already on a worker.
struct overlap {
  std::uint32_t part, worker;
  double bytes;
};

std::vector<overlap> overlaps(const partition_problem& problem,
                              const std::vector<std::uint32_t>& parts) {
  std::vector<overlap> all, merged;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const element_load& e = problem.loads.elements[problem.elements[i]];
    all.push_back({parts[i], e.worker, 1.0 + double(e.state_bytes) + double(e.device_bytes)});
  }
  const auto place = [](const overlap& o) { return std::tuple(o.part, o.worker); };
  std::ranges::stable_sort(all, {}, place);
  for (const overlap& o : all) {
    if (merged.empty() || place(merged.back()) != place(o))
      merged.push_back(o);
    else
      merged.back().bytes += o.bytes;
  }
  std::ranges::stable_sort(merged, [](auto& a, auto& b) { return a.bytes > b.bytes; });
  return merged;
}

/// Assigns parts to workers of the same kind so that much memory stays where it is.
std::vector<std::uint32_t> match(const partition_problem& problem,
                                 const std::vector<std::uint32_t>& parts) {
  constexpr std::uint32_t open = no_device;
  const std::size_t count = problem.order.size();
  std::vector<std::uint32_t> position(count), worker_of_part(count, open);
  std::vector<bool> is_used(count);
  for (std::uint32_t i = 0; i < count; ++i) position[problem.order[i]] = i;
  const auto is_alike = [&](std::uint32_t part, std::uint32_t worker) {
    const worker_info &one = problem.loads.workers[problem.order[part]],
                      &other = problem.loads.workers[worker];
    const auto speed = [&](const worker_info& w) {
      return w.device == no_device ? 0 : problem.loads.devices[w.device].speed;
    };
    // Equal capacities: neither has more elements that cannot migrate.
    return one.speed == other.speed && speed(one) == speed(other) &&
           problem.capacities[part] == problem.capacities[position[worker]];
  };
  for (const overlap& o : overlaps(problem, parts)) {
    if (worker_of_part[o.part] != open || is_used[o.worker] || !is_alike(o.part, o.worker))
      continue;
    worker_of_part[o.part] = o.worker;
    is_used[o.worker] = true;
  }
  // The remaining parts: their own worker if it is free, then any free worker that is alike.
  for (std::uint32_t p = 0; p < count; ++p) {
    const std::uint32_t own = problem.order[p];
    if (worker_of_part[p] != open || is_used[own]) continue;
    worker_of_part[p] = own;
    is_used[own] = true;
  }
  std::uint32_t free = 0;
  for (std::uint32_t p = 0; p < count; ++p) {
    if (worker_of_part[p] != open) continue;
    while (is_used[problem.order[free]]) ++free;
    worker_of_part[p] = problem.order[free];
    is_used[problem.order[free]] = true;
  }
  return worker_of_part;
}

}  // namespace

void move_all(load_state& state, const std::vector<std::uint32_t>& wanted) {
  bool has_changed = true;
  for (int pass = 0; pass < 4 && has_changed; ++pass) {
    has_changed = false;
    for (std::uint32_t e = 0; e < wanted.size(); ++e) {
      if (state.worker_of()[e] == wanted[e] || !state.fits(e, wanted[e])) continue;
      state.move(e, wanted[e]);
      has_changed = true;
    }
  }
}

void partition_balancer::assign(const snapshot& loads,
                                std::vector<std::uint32_t>& worker_of) const {
  const double ideal = estimate_step(loads, worker_of).ideal_seconds;
  const partition_problem problem = make_problem(loads);
  std::vector<std::uint32_t> wanted = worker_of;
  if (!problem.elements.empty()) {
    const std::vector<std::uint32_t> parts = divide(problem), workers = match(problem, parts);
    for (std::size_t i = 0; i < parts.size(); ++i) wanted[problem.elements[i]] = workers[parts[i]];
  }
  load_state state(loads, std::move(worker_of));
  move_all(state, wanted);
  // Parts are balanced up to one element and for the sum of both loads; the rest needs few
  // migrations.
  worker_of = refined(loads, std::move(state).take(), ideal, options().tolerance);
}

}  // namespace starling::balance
