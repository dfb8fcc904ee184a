// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>
#include <numeric>

#include <starling/core/error.hpp>

#include "balancers.hpp"
#include "load_state.hpp"
#include "partition.hpp"

namespace starling::balance {
namespace {

/// The ranks as workers, each with one device that stands for all devices of its workers.
snapshot ranks_as_workers(const snapshot& loads, const std::vector<std::uint32_t>& worker_of) {
  snapshot upper;
  const std::uint32_t ranks = loads.rank_count();
  std::vector<double> speed(ranks);
  std::vector<std::vector<std::uint32_t>> devices(ranks);
  for (const worker_info& w : loads.workers) {
    speed[w.rank] += w.speed;
    if (w.device != no_device) devices[w.rank].push_back(w.device);
  }
  std::vector<unsigned> owners(loads.devices.size());  // ranks that share the device
  for (auto& own : devices) {
    std::ranges::sort(own);
    own.erase(std::ranges::unique(own).begin(), own.end());
    for (const std::uint32_t d : own) ++owners[d];
  }
  std::vector<std::uint32_t> position(ranks, no_device);
  for (std::uint32_t r = 0; r < ranks; ++r) {
    if (speed[r] == 0) continue;  // no worker has this rank
    position[r] = std::uint32_t(upper.workers.size());
    upper.workers.push_back({r, no_device, speed[r]});
    if (devices[r].empty()) continue;
    upper.workers.back().device = std::uint32_t(upper.devices.size());
    device_info all{0, 0};
    for (const std::uint32_t d : devices[r]) {
      const std::uint64_t part = loads.devices[d].memory_bytes / owners[d];
      all.memory_bytes +=
          std::min(part, std::numeric_limits<std::uint64_t>::max() - all.memory_bytes);
      all.speed += loads.devices[d].speed / owners[d];
    }
    upper.devices.push_back(all);
  }
  upper.elements = loads.elements;
  for (std::size_t e = 0; e < upper.elements.size(); ++e)
    upper.elements[e].worker = position[loads.workers[worker_of[e]].rank];
  upper.edges = loads.edges;
  upper.costs = loads.costs;
  upper.steps = loads.steps;
  return upper;
}

/// The workers, devices and elements of one rank, and their positions in the whole snapshot.
struct rank_part {
  snapshot loads;
  std::vector<std::uint32_t> elements, workers, devices;
};

class hierarchical final : public balancer {
 public:
  explicit hierarchical(const balancer_options& chosen)
      : balancer(chosen), m_inner(make_balancer(chosen.inner, chosen)) {}
  [[nodiscard]] std::string_view name() const noexcept override { return "hierarchical"; }

 protected:
  void assign(const snapshot& loads, std::vector<std::uint32_t>& worker_of) const override {
    load_state state(loads, std::move(worker_of));
    between_ranks(state);
    within_ranks(state);
    relieve_memory(state);
    worker_of = std::move(state).take();
  }

 private:
  void between_ranks(load_state& state) const {
    const snapshot& loads = state.loads();
    const snapshot upper = ranks_as_workers(loads, state.worker_of());
    std::vector<std::uint32_t> target = current_workers(upper);
    assign_by(*m_inner, upper, target);
    std::vector<std::vector<std::uint32_t>> workers_of(upper.workers.size());
    std::vector<std::uint32_t> position(loads.rank_count());
    for (std::uint32_t p = 0; p < upper.workers.size(); ++p) position[upper.workers[p].rank] = p;
    for (std::uint32_t w = 0; w < loads.workers.size(); ++w)
      workers_of[position[loads.workers[w].rank]].push_back(w);
    for (std::uint32_t e = 0; e < target.size(); ++e)
      if (target[e] != upper.elements[e].worker) move_to_one_of(state, e, workers_of[target[e]]);
  }

  /// Moves an element to the worker of a rank where it makes the least level; an element that fits
  /// on none of them stays.
  static void move_to_one_of(load_state& state, std::uint32_t element,
                             const std::vector<std::uint32_t>& workers) {
    std::uint32_t best = no_device;
    for (const std::uint32_t w : workers) {
      if (!state.fits(element, w)) continue;
      if (best == no_device || state.level_with(element, w) < state.level_with(element, best))
        best = w;
    }
    if (best != no_device) state.move(element, best);
  }

  void within_ranks(load_state& state) const {
    std::vector<std::uint32_t> wanted = state.worker_of();
    for (const rank_part& part : parts_of(state)) {
      if (part.workers.size() < 2) continue;
      std::vector<std::uint32_t> target = current_workers(part.loads);
      assign_by(*m_inner, part.loads, target);
      for (std::size_t i = 0; i < target.size(); ++i)
        wanted[part.elements[i]] = part.workers[target[i]];
    }
    // Step by step, because ranks may share a device and its memory.
    move_all(state, wanted);
  }

  static std::vector<rank_part> parts_of(const load_state& state) {
    const snapshot& loads = state.loads();
    std::vector<rank_part> parts(loads.rank_count());
    std::vector<std::uint32_t> local(loads.workers.size());
    std::vector<std::uint64_t> used(loads.devices.size());
    for (std::uint32_t w = 0; w < local.size(); ++w) {
      rank_part& part = parts[loads.workers[w].rank];
      local[w] = std::uint32_t(part.workers.size());
      part.workers.push_back(w);
    }
    for (std::uint32_t e = 0; e < loads.elements.size(); ++e) {
      const std::uint32_t w = state.worker_of()[e];
      rank_part& part = parts[loads.workers[w].rank];
      part.elements.push_back(e);
      part.loads.elements.push_back(loads.elements[e]);
      part.loads.elements.back().worker = local[w];
      if (loads.workers[w].device != no_device)
        used[loads.workers[w].device] += loads.elements[e].device_bytes;
    }
    for (rank_part& part : parts) add_places(loads, used, part);
    return parts;
  }

  static void add_places(const snapshot& loads, const std::vector<std::uint64_t>& used,
                         rank_part& part) {
    part.loads.steps = loads.steps;
    part.loads.costs = loads.costs;
    for (const std::uint32_t w : part.workers) {
      part.loads.workers.push_back(loads.workers[w]);
      const std::uint32_t d = loads.workers[w].device;
      if (d == no_device) continue;
      const auto found = std::ranges::find(part.devices, d);
      part.loads.workers.back().device = std::uint32_t(found - part.devices.begin());
      if (found == part.devices.end()) part.devices.push_back(d);
    }
    std::vector<std::uint64_t> own(part.devices.size());
    for (const element_load& e : part.loads.elements)
      if (const std::uint32_t d = part.loads.workers[e.worker].device; d != no_device)
        own[d] += e.device_bytes;
    for (std::size_t i = 0; i < part.devices.size(); ++i) {
      device_info info = loads.devices[part.devices[i]];
      // Elements of other ranks on a shared device leave less memory for this one.
      const std::uint64_t foreign = used[part.devices[i]] - own[i];
      info.memory_bytes -= std::min(info.memory_bytes, foreign);
      part.loads.devices.push_back(info);
    }
  }

  std::unique_ptr<balancer> m_inner;
};

}  // namespace

std::unique_ptr<balancer> make_hierarchical(const balancer_options& chosen) {
  if (chosen.inner == "hierarchical")
    throw option_error("the inner balancer of 'hierarchical' must be another one");
  return std::make_unique<hierarchical>(chosen);
}

}  // namespace starling::balance
