// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "balancers.hpp"
#include "improver.hpp"
#include "load_state.hpp"

namespace starling::balance {
namespace {

/// How much host and device load count when elements are sorted by weight.
struct weights {
  double host = 1, device = 1;
  bool is_sum = false;  // of both; otherwise the larger counts
};

struct weighed {
  double weight = 0;
  std::uint32_t element = 0;
};

std::vector<weighed> heaviest_first(const snapshot& loads, const weights& count) {
  std::vector<weighed> order;
  order.reserve(loads.elements.size());
  for (std::uint32_t e = 0; e < loads.elements.size(); ++e) {
    const element_load& load = loads.elements[e];
    const double host = count.host * load.host_seconds, device = count.device * load.device_seconds;
    order.push_back({count.is_sum ? host + device : std::max(host, device), e});
  }
  std::ranges::sort(order, [&](const weighed& a, const weighed& b) {
    return a.weight != b.weight ? a.weight > b.weight
                                : loads.elements[a.element].id < loads.elements[b.element].id;
  });
  return order;
}

/// Places the elements in order. An element stays where it is if its worker and device then have
/// at most the ideal load, which saves migrations and leaves no worker worse.
load_state place_all(const snapshot& loads, const std::vector<std::uint32_t>& worker_of,
                     const std::vector<weighed>& order, double ideal) {
  load_state state(loads, worker_of, true);
  for (std::uint32_t e = 0; e < loads.elements.size(); ++e)
    if (loads.elements[e].is_anchored) state.place(e, worker_of[e]);
  const double limit = ideal * (1 + 1e-9);
  for (const auto& [weight, e] : order) {
    if (loads.elements[e].is_anchored) continue;
    const std::uint32_t current = worker_of[e], d = loads.workers[current].device;
    const bool is_overfull =
        d != no_device && state.is_overfull(d) && loads.elements[e].device_bytes;
    const bool stays = weight == 0 || state.level_with(e, current) <= limit;
    state.place(e, stays && !is_overfull ? current : state.best_worker(e));
  }
  return state;
}

class greedy final : public balancer {
 public:
  using balancer::balancer;
  [[nodiscard]] std::string_view name() const noexcept override { return "greedy"; }

 protected:
  void assign(const snapshot& loads, std::vector<std::uint32_t>& worker_of) const override {
    const estimate now = estimate_step(loads, worker_of);
    std::array<weights, 4> orders{weights{}, {1, 1, true}, {1, 0, false}, {0, 1, false}};
    // Small problems are solved from several orders and searched longer: neither takes time, and a
    // single element counts for more.
    const bool is_small = loads.elements.size() * loads.workers.size() <= 4096;
    std::vector<std::uint32_t> best;
    estimate best_time;
    for (std::size_t i = 0; i < (is_small ? orders.size() : 1); ++i) {
      load_state state =
          place_all(loads, worker_of, heaviest_first(loads, orders[i]), now.ideal_seconds);
      relieve_memory(state);
      improver search(state, now.ideal_seconds, is_small ? 0 : options().tolerance);
      search.unload();
      search.run(1'000'000);
      const estimate time = estimate_step(loads, state.worker_of());
      const bool is_better = time.overfull_bytes != best_time.overfull_bytes
                                 ? time.overfull_bytes < best_time.overfull_bytes
                                 : time.step_seconds < best_time.step_seconds * (1 - 1e-9);
      if (!best.empty() && !is_better) continue;
      best_time = time;
      best = std::move(state).take();
    }
    worker_of = std::move(best);
  }
};

class refine final : public balancer {
 public:
  using balancer::balancer;
  [[nodiscard]] std::string_view name() const noexcept override { return "refine"; }

 protected:
  void assign(const snapshot& loads, std::vector<std::uint32_t>& worker_of) const override {
    const double ideal = estimate_step(loads, worker_of).ideal_seconds;
    load_state state(loads, std::move(worker_of));
    relieve_memory(state);
    improver search(state, ideal, options().tolerance);
    search.unload();
    search.run(20 * loads.elements.size() + 1'000'000);
    worker_of = std::move(state).take();
  }
};

class none final : public balancer {
 public:
  using balancer::balancer;
  [[nodiscard]] std::string_view name() const noexcept override { return "none"; }

 protected:
  void assign(const snapshot&, std::vector<std::uint32_t>&) const override {}
};

}  // namespace

std::unique_ptr<balancer> make_greedy(const balancer_options& chosen) {
  return std::make_unique<greedy>(chosen);
}
std::unique_ptr<balancer> make_refine(const balancer_options& chosen) {
  return std::make_unique<refine>(chosen);
}
std::unique_ptr<balancer> make_none(const balancer_options& chosen) {
  return std::make_unique<none>(chosen);
}

}  // namespace starling::balance
