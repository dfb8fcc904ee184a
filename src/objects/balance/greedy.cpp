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

/// Which elements stay where they are: those whose worker and device then have at most the ideal
/// load. That saves migrations and leaves no worker worse. With two kinds of load, less is
/// allowed at the beginning, since a worker that is full of one kind leaves room for the other
/// that no element can use.
class staying {
 public:
  staying(const snapshot& loads, double ideal) : m_ideal(ideal * (1 + 1e-9)) {
    for (const element_load& e : loads.elements) {
      m_total += e.host_seconds + e.device_seconds;
      m_has_both = m_has_both || e.device_seconds > 0;
    }
  }
  [[nodiscard]] bool may_stay(const load_state& state, std::uint32_t element,
                              std::uint32_t worker) const {
    const double done = m_has_both ? early + (1 - early) * m_placed / m_total : 1;
    return state.level_with(element, worker) <= m_ideal * done;
  }
  void placed(const element_load& e) { m_placed += e.host_seconds + e.device_seconds; }

 private:
  static constexpr double early = 0.25;
  double m_ideal, m_total = 0, m_placed = 0;
  bool m_has_both = false;
};

/// Places the elements in order.
load_state place_all(const snapshot& loads, const std::vector<std::uint32_t>& worker_of,
                     const std::vector<weighed>& order, double ideal) {
  load_state state(loads, worker_of, true);
  for (std::uint32_t e = 0; e < loads.elements.size(); ++e)
    if (loads.elements[e].is_anchored) state.place(e, worker_of[e]);
  staying rule(loads, ideal);
  for (const auto& [weight, e] : order) {
    const element_load& load = loads.elements[e];
    rule.placed(load);
    if (load.is_anchored) continue;
    const std::uint32_t current = worker_of[e], d = loads.workers[current].device;
    const bool is_overfull = d != no_device && state.is_overfull(d) && load.device_bytes > 0;
    const bool stays = weight == 0 || rule.may_stay(state, e, current);
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
    worker_of = refined(loads, std::move(worker_of), ideal, options().tolerance);
  }
};

class none final : public balancer {
 public:
  using balancer::balancer;
  [[nodiscard]] std::string_view name() const noexcept override { return "none"; }

 protected:
  void assign(const snapshot&, std::vector<std::uint32_t>&) const override {}
  [[nodiscard]] bool is_refined_within_ranks() const noexcept override { return false; }
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
