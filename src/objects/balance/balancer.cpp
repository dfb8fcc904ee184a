// SPDX-License-Identifier: Apache-2.0
#include <starling/objects/balance/balancer.hpp>

#include <algorithm>
#include <numeric>
#include <tuple>

#include <starling/core/error.hpp>

#include "balancers.hpp"
#include "rank_bound.hpp"

namespace starling::balance {
namespace {

/// Loads of the current assignment, from which the reasons of migrations follow.
class reasons {
 public:
  explicit reasons(const snapshot& loads, std::span<const std::uint32_t> worker_of)
      : m_loads(loads), m_host(loads.workers.size()), m_device(loads.devices.size()),
        m_memory(loads.devices.size()), m_bytes_saved(loads.elements.size()) {
    double host = 0, device = 0, workers = 0, devices = 0;
    for (const worker_info& w : loads.workers) workers += w.speed;
    for (const device_info& d : loads.devices) devices += d.speed;
    for (const element_load& e : loads.elements) {
      host += e.host_seconds;
      device += e.device_seconds;
      m_host[e.worker] += e.host_seconds / loads.workers[e.worker].speed;
      const std::uint32_t d = loads.workers[e.worker].device;
      if (d == no_device) continue;
      m_device[d] += e.device_seconds / loads.devices[d].speed;
      m_memory[d] += e.device_bytes;
    }
    if (workers > 0) m_mean_host = host / workers;
    if (devices > 0) m_mean_device = device / devices;
    for (const traffic& edge : loads.edges) add_saved(edge, worker_of);
  }

  [[nodiscard]] reason of(std::uint32_t element) const {
    const element_load& e = m_loads.elements[element];
    const std::uint32_t d = m_loads.workers[e.worker].device;
    if (d != no_device && e.device_bytes > 0 && m_memory[d] > m_loads.devices[d].memory_bytes)
      return reason::device_memory;
    const bool has_device_load = d != no_device && e.device_seconds > 0;
    if (has_device_load && m_device[d] > m_mean_device * slack) return reason::device_load;
    if (e.host_seconds > 0 && m_host[e.worker] > m_mean_host * slack) return reason::host_load;
    return m_bytes_saved[element] > 0 ? reason::communication : reason::rearrangement;
  }

 private:
  static constexpr double slack = 1 + 1e-9;  // rounding of sums

  void add_saved(const traffic& edge, std::span<const std::uint32_t> worker_of) {
    const auto rank_of = [this](std::uint32_t worker) { return m_loads.workers[worker].rank; };
    const bool was_sent =
        rank_of(m_loads.elements[edge.from].worker) != rank_of(m_loads.elements[edge.to].worker);
    const bool is_sent = rank_of(worker_of[edge.from]) != rank_of(worker_of[edge.to]);
    const double saved = edge.bytes * (int(was_sent) - int(is_sent));
    m_bytes_saved[edge.from] += saved;
    m_bytes_saved[edge.to] += saved;
  }

  const snapshot& m_loads;
  std::vector<double> m_host, m_device;
  std::vector<std::uint64_t> m_memory;
  std::vector<double> m_bytes_saved;
  double m_mean_host = 0, m_mean_device = 0;
};

void require_allowed(const snapshot& loads, std::span<const std::uint32_t> worker_of,
                     std::string_view name) {
  const std::string who = "balancer '" + std::string(name) + "' ";
  if (worker_of.size() != loads.elements.size())
    throw usage_error(who + "returned an assignment of another number of elements");
  for (std::size_t i = 0; i < worker_of.size(); ++i) {
    const element_load& e = loads.elements[i];
    if (worker_of[i] == e.worker) continue;
    const std::string which = who + "assigned element " + std::to_string(e.id);
    if (worker_of[i] >= loads.workers.size())
      throw usage_error(which + " to worker " + std::to_string(worker_of[i]) +
                        ", which does not exist");
    if (e.is_anchored) throw usage_error(which + " to another worker, but it is anchored");
    if (e.is_bound_to_rank && loads.workers[worker_of[i]].rank != loads.workers[e.worker].rank)
      throw usage_error(which + " to another rank, but it is bound to its own");
    const bool needs_device = e.device_seconds > 0 || e.device_bytes > 0;
    if (needs_device && loads.workers[worker_of[i]].device == no_device)
      throw usage_error(which + ", which needs a device, to a worker without one");
  }
}

void require_memory(const snapshot& loads, std::span<const std::uint32_t> worker_of,
                    std::string_view name) {
  std::vector<std::uint64_t> before(loads.devices.size()), after(loads.devices.size());
  for (std::size_t i = 0; i < worker_of.size(); ++i) {
    const std::uint32_t from = loads.workers[loads.elements[i].worker].device;
    const std::uint32_t to = loads.workers[worker_of[i]].device;
    if (from != no_device) before[from] += loads.elements[i].device_bytes;
    if (to != no_device) after[to] += loads.elements[i].device_bytes;
  }
  for (std::size_t d = 0; d < after.size(); ++d)
    if (after[d] > std::max(before[d], loads.devices[d].memory_bytes))
      throw usage_error("balancer '" + std::string(name) + "' assigned " +
                        std::to_string(after[d]) + " bytes to device " + std::to_string(d) +
                        ", which has " + std::to_string(loads.devices[d].memory_bytes));
}

void add_migrations(const snapshot& loads, std::span<const std::uint32_t> worker_of, plan& into) {
  const reasons why(loads, worker_of);
  std::vector<double> seconds(loads.workers.size());
  for (std::uint32_t i = 0; i < worker_of.size(); ++i) {
    const element_load& e = loads.elements[i];
    if (worker_of[i] == e.worker) continue;
    const std::uint64_t bytes = bytes_sent(loads, i, worker_of[i]);
    const double time =
        loads.costs.seconds_per_migration + double(bytes) * loads.costs.seconds_per_byte;
    seconds[e.worker] += time;
    seconds[worker_of[i]] += time;
    into.bytes += bytes;
    into.migrations.push_back({i, e.id, e.worker, worker_of[i], why.of(i)});
  }
  for (const double time : seconds) into.cost_seconds = std::max(into.cost_seconds, time);
}

bool is_in_order(const traffic& a, const traffic& b) {
  return std::tie(a.from, a.to, a.bytes, a.messages) < std::tie(b.from, b.to, b.bytes, b.messages);
}

/// Loads in order of the ids, and the positions that the elements had before. The order of a
/// snapshot may come from a container without an order; ties and sums must not depend on it.
class ordered {
 public:
  explicit ordered(const snapshot& loads) : m_loads(loads), m_position(loads.elements.size()) {
    std::iota(m_position.begin(), m_position.end(), 0U);
    std::ranges::sort(m_position, {}, [&](std::uint32_t e) { return loads.elements[e].id; });
    std::vector<std::uint32_t> place(m_position.size());
    for (std::uint32_t i = 0; i < place.size(); ++i) {
      place[m_position[i]] = i;
      m_loads.elements[i] = loads.elements[m_position[i]];
    }
    for (traffic& edge : m_loads.edges)
      edge = {place[edge.from], place[edge.to], edge.bytes, edge.messages};
    std::ranges::sort(m_loads.edges, is_in_order);
  }

  [[nodiscard]] const snapshot& loads() const noexcept { return m_loads; }

  /// Gives the migrations the positions of the original snapshot.
  [[nodiscard]] plan restored(plan result) const {
    for (migration& m : result.migrations) m.element = m_position[m.element];
    std::ranges::sort(result.migrations, {}, &migration::element);
    return result;
  }

  [[nodiscard]] static bool is_needed(const snapshot& loads) {
    return !std::ranges::is_sorted(loads.elements, {}, &element_load::id) ||
           !std::ranges::is_sorted(loads.edges, is_in_order);
  }

 private:
  snapshot m_loads;
  std::vector<std::uint32_t> m_position;
};

}  // namespace

verdict judge(const plan& p, std::size_t migrations, double steps, double minimum_gain) {
  if (p.after.overfull_bytes != p.before.overfull_bytes)
    return p.after.overfull_bytes < p.before.overfull_bytes ? verdict::migrate
                                                            : verdict::nothing_better;
  const double gain = p.before.step_seconds - p.after.step_seconds;
  if (migrations == 0 || gain <= 0 || gain < minimum_gain * p.before.step_seconds)
    return verdict::nothing_better;
  return gain * steps > p.cost_seconds ? verdict::migrate : verdict::does_not_pay;
}

plan balancer::balance(const snapshot& loads) const {
  require_valid(loads);
  if (!ordered::is_needed(loads)) return balance_ordered(loads);
  const ordered sorted(loads);
  return sorted.restored(balance_ordered(sorted.loads()));
}

plan balancer::balance_ordered(const snapshot& loads) const {
  std::vector<std::uint32_t> worker_of = current_workers(loads);
  plan result;
  result.before = result.after = estimate_step(loads, worker_of);
  const bool is_balanced =
      result.before.step_seconds <= result.before.ideal_seconds * (1 + m_options.tolerance);
  if (is_balanced && result.before.overfull_bytes == 0) return result;
  if (has_rank_bound(loads)) {
    const snapshot fixed = with_rank_bound_anchored(loads);
    assign(fixed, worker_of);
    require_allowed(fixed, worker_of, name());
    if (is_refined_within_ranks()) refine_within_ranks(loads, worker_of, m_options.tolerance);
  } else {
    assign(loads, worker_of);
  }
  require_allowed(loads, worker_of, name());
  require_memory(loads, worker_of, name());
  result.after = estimate_step(loads, worker_of);
  add_migrations(loads, worker_of, result);
  result.decision = judge(result, result.migrations.size(), loads.steps, m_options.minimum_gain);
  if (result.decision == verdict::migrate) return result;
  result.migrations.clear();
  result.after = result.before;
  result.bytes = 0;
  if (result.decision == verdict::nothing_better) result.cost_seconds = 0;
  return result;
}

}  // namespace starling::balance
