// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>

#include "balancers.hpp"
#include "improver.hpp"
#include "load_state.hpp"

namespace starling::balance {
namespace {

/// Neighbours of all elements with the weights of their edges, in both directions.
class graph {
 public:
  struct edge {
    std::uint32_t to;
    double weight;
  };

  explicit graph(const snapshot& loads) : m_first(loads.elements.size() + 1) {
    const cost_model& costs = loads.costs;
    const bool has_time = costs.bytes_per_second > 0 || costs.latency_seconds > 0;
    const double for_byte = costs.bytes_per_second > 0 ? 1 / costs.bytes_per_second : 0.0;
    const auto weight = [&](const traffic& t) {
      // Without times, a message counts as much as 64 bytes.
      return has_time ? t.bytes * for_byte + t.messages * costs.latency_seconds
                      : t.bytes + 64 * t.messages;
    };
    for (const traffic& t : loads.edges) {
      if (t.from == t.to) continue;
      ++m_first[t.from + 1];
      ++m_first[t.to + 1];
    }
    std::partial_sum(m_first.begin(), m_first.end(), m_first.begin());
    m_edges.resize(m_first.back());
    std::vector<std::size_t> next(m_first.begin(), m_first.end() - 1);
    for (const traffic& t : loads.edges) {
      if (t.from == t.to) continue;
      m_edges[next[t.from]++] = {t.to, weight(t)};
      m_edges[next[t.to]++] = {t.from, weight(t)};
    }
  }
  [[nodiscard]] std::span<const edge> of(std::uint32_t element) const noexcept {
    return std::span(m_edges).subspan(m_first[element], m_first[element + 1] - m_first[element]);
  }

 private:
  std::vector<std::size_t> m_first;
  std::vector<edge> m_edges;
};

/// Joins each element with the neighbour on the same worker to which its edges are heaviest, if
/// both together have at most `most` seconds. Returns the cluster of each element.
std::vector<std::uint32_t> clusters(const snapshot& loads, const graph& edges, double most,
                                    std::uint32_t& count) {
  constexpr std::uint32_t open = no_device;
  std::vector<std::uint32_t> cluster(loads.elements.size(), open);
  count = 0;
  for (std::uint32_t e = 0; e < cluster.size(); ++e) {
    if (cluster[e] != open) continue;
    const element_load& one = loads.elements[e];
    std::uint32_t partner = open;
    double heaviest = 0;
    for (const graph::edge& edge : edges.of(e)) {
      const element_load& other = loads.elements[edge.to];
      const bool can_join = cluster[edge.to] == open && other.worker == one.worker &&
                            !one.is_anchored && !other.is_anchored &&
                            one.host_seconds + other.host_seconds <= most &&
                            one.device_seconds + other.device_seconds <= most;
      if (!can_join || edge.weight <= heaviest) continue;
      partner = edge.to;
      heaviest = edge.weight;
    }
    cluster[e] = count;
    if (partner != open) cluster[partner] = count;
    ++count;
  }
  return cluster;
}

snapshot coarse_snapshot(const snapshot& loads, const std::vector<std::uint32_t>& cluster,
                         std::uint32_t count) {
  snapshot coarse;
  coarse.workers = loads.workers;
  coarse.devices = loads.devices;
  coarse.costs = loads.costs;
  coarse.steps = loads.steps;
  coarse.elements.resize(count);
  for (std::uint32_t e = 0; e < cluster.size(); ++e) {
    element_load& sum = coarse.elements[cluster[e]];
    const element_load& part = loads.elements[e];
    sum.id = cluster[e];
    sum.worker = part.worker;
    sum.host_seconds += part.host_seconds;
    sum.device_seconds += part.device_seconds;
    sum.device_bytes += part.device_bytes;
    sum.is_anchored = sum.is_anchored || part.is_anchored;
  }
  for (const traffic& t : loads.edges) {
    const traffic merged{cluster[t.from], cluster[t.to], t.bytes, t.messages};
    if (merged.from != merged.to) coarse.edges.push_back(merged);
  }
  const auto ends = [](const traffic& t) { return std::pair(t.from, t.to); };
  std::ranges::stable_sort(coarse.edges, {}, ends);
  std::size_t last = 0;
  for (std::size_t i = 1; i < coarse.edges.size(); ++i) {
    if (ends(coarse.edges[last]) == ends(coarse.edges[i])) {
      coarse.edges[last].bytes += coarse.edges[i].bytes;
      coarse.edges[last].messages += coarse.edges[i].messages;
    } else {
      coarse.edges[++last] = coarse.edges[i];
    }
  }
  if (!coarse.edges.empty()) coarse.edges.resize(last + 1);
  return coarse;
}

/// Moves elements next to their neighbours, as far as loads and memory allow.
class cut_refiner {
 public:
  cut_refiner(load_state& state, const graph& edges, double limit)
      : m_state(state), m_edges(edges), m_limit(limit) {}

  /// Moves each element to the best worker among those of its neighbours; returns whether an
  /// element has moved.
  bool pass() {
    bool has_moved = false;
    for (std::uint32_t e = 0; e < m_state.loads().elements.size(); ++e) {
      if (m_state.loads().elements[e].is_anchored || m_edges.of(e).empty()) continue;
      const std::uint32_t to = best_for(e);
      if (to == m_state.worker_of()[e]) continue;
      m_state.move(e, to);
      has_moved = true;
    }
    return has_moved;
  }

 private:
  struct place {
    std::uint32_t worker, rank;
    double weight;
  };

  [[nodiscard]] double connection(std::uint32_t rank) const {
    double sum = 0;
    for (const place& p : m_places)
      if (p.rank == rank) sum += p.weight;
    return sum;
  }

  std::uint32_t best_for(std::uint32_t e) {
    const auto& workers = m_state.loads().workers;
    const std::uint32_t current = m_state.worker_of()[e];
    collect(e);
    const double here = connection(workers[current].rank), level = m_state.level(current);
    const bool is_overloaded = level > m_limit;
    std::uint32_t best = current;
    double best_gain = is_overloaded ? -here - 1 : 0, best_level = level;
    for (const place& p : m_places) {
      if (p.worker == current || !m_state.fits(e, p.worker)) continue;
      const bool shares = workers[p.worker].device != no_device &&
                          workers[p.worker].device == workers[current].device;
      const double there = m_state.level_with(e, p.worker, shares);
      if (there > m_limit && there >= level) continue;
      const double gain = connection(p.rank) - here;
      // Equal connection: only if it evens out the loads.
      const bool is_better = gain > best_gain || (gain == best_gain && there < best_level);
      if (!is_better || (there > m_limit && !is_overloaded)) continue;
      best = p.worker;
      best_gain = gain;
      best_level = there;
    }
    return best;
  }

  /// Collects the workers of the neighbours with the weights of the edges to them.
  void collect(std::uint32_t e) {
    m_places.clear();
    for (const graph::edge& edge : m_edges.of(e)) {
      const std::uint32_t w = m_state.worker_of()[edge.to];
      const auto found = std::ranges::find(m_places, w, &place::worker);
      if (found != m_places.end())
        found->weight += edge.weight;
      else
        m_places.push_back({w, m_state.loads().workers[w].rank, edge.weight});
    }
  }

  load_state& m_state;
  const graph& m_edges;
  double m_limit;
  std::vector<place> m_places;
};

class communication final : public balancer {
 public:
  using balancer::balancer;
  [[nodiscard]] std::string_view name() const noexcept override { return "communication"; }

 protected:
  void assign(const snapshot& loads, std::vector<std::uint32_t>& worker_of) const override {
    const estimate now = estimate_step(loads, worker_of);
    const double limit = now.ideal_seconds * (1 + options().tolerance);
    // The first cycle lets workers exceed the limit, since an exchange begins with one migration.
    // The second one then moves clusters of elements that the first has brought together.
    const double loose = std::max(slack * limit, now.network_seconds / 2);
    snapshot between = loads;
    solve(between, worker_of, {loose, now.ideal_seconds / 4});
    for (std::size_t e = 0; e < worker_of.size(); ++e) between.elements[e].worker = worker_of[e];
    solve(between, worker_of, {limit, now.ideal_seconds / 4});
    const estimate then = estimate_step(loads, worker_of);
    if (std::max(then.host_seconds, then.device_seconds) > std::max(limit, then.network_seconds))
      worker_of = refined(loads, std::move(worker_of), now.ideal_seconds, options().tolerance);
  }

 private:
  static constexpr int passes = 8;
  static constexpr double slack = 1.25;

  struct limits {
    double level;    // load of a worker or device
    double cluster;  // loads of a cluster
  };

  /// Solves a coarser problem first if there is one, and then improves its solution.
  static void solve(const snapshot& loads, std::vector<std::uint32_t>& worker_of,
                    const limits& most) {
    const graph edges(loads);
    std::uint32_t count = 0;
    const std::vector<std::uint32_t> cluster = clusters(loads, edges, most.cluster, count);
    const bool is_coarser = double(count) < 0.9 * double(loads.elements.size());
    if (is_coarser && count > 2 * loads.workers.size()) {
      const snapshot coarse = coarse_snapshot(loads, cluster, count);
      std::vector<std::uint32_t> target = current_workers(coarse);
      solve(coarse, target, most);
      for (std::uint32_t e = 0; e < worker_of.size(); ++e) worker_of[e] = target[cluster[e]];
    }
    load_state state(loads, std::move(worker_of));
    relieve_memory(state);
    cut_refiner refiner(state, edges, most.level);
    for (int i = 0; i < passes && refiner.pass(); ++i) continue;
    improver search(state, most.level, 0);
    search.unload();
    search.run(20 * loads.elements.size() + 100'000);
    for (int i = 0; i < passes && refiner.pass(); ++i) continue;
    worker_of = std::move(state).take();
  }
};

}  // namespace

std::unique_ptr<balancer> make_communication(const balancer_options& chosen) {
  return std::make_unique<communication>(chosen);
}

}  // namespace starling::balance
