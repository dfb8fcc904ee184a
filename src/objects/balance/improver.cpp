// SPDX-License-Identifier: Apache-2.0
#include "improver.hpp"

#include <algorithm>
#include <numeric>

namespace starling::balance {
namespace {

constexpr double below = 1 - 1e-9;        // an improvement must exceed rounding errors
constexpr std::size_t few_workers = 32;   // so many are all tried
constexpr std::size_t few_elements = 64;  // of a worker's elements, so many are tried for swaps

}  // namespace

improver::improver(load_state& state, double ideal, double tolerance)
    : m_state(state), m_limit(ideal * (1 + tolerance)), m_members(state.loads().workers.size()),
      m_position(state.loads().elements.size()), m_by_load(state.loads().workers.size()) {
  const auto& elements = state.loads().elements;
  for (std::uint32_t e = 0; e < elements.size(); ++e) {
    const bool has_load = elements[e].host_seconds > 0 || elements[e].device_seconds > 0;
    if (elements[e].is_anchored || !has_load) continue;
    auto& members = m_members[state.worker_of()[e]];
    m_position[e] = std::uint32_t(members.size());
    members.push_back(e);
  }
  for (std::uint32_t w = 0; w < m_members.size(); ++w) m_by_load.set(w, -m_state.level(w));
}

void improver::update(std::uint32_t worker) {
  const std::uint32_t d = m_state.loads().workers[worker].device;
  if (d == no_device) return m_by_load.set(worker, -m_state.level(worker));
  for (const std::uint32_t w : m_state.sharing(d)) m_by_load.set(w, -m_state.level(w));
}

void improver::move(std::uint32_t element, std::uint32_t worker) {
  const std::uint32_t from = m_state.worker_of()[element];
  auto& members = m_members[from];
  m_position[members.back()] = m_position[element];
  members[m_position[element]] = members.back();
  members.pop_back();
  m_position[element] = std::uint32_t(m_members[worker].size());
  m_members[worker].push_back(element);
  m_state.move(element, worker);
  update(from);
  update(worker);
}

void improver::unload_worker(std::uint32_t worker) {
  const auto load = [&](std::uint32_t e) {
    return std::max(m_state.host_of(e, worker), m_state.device_of(e, worker));
  };
  std::vector<std::uint32_t> order = m_members[worker];
  std::ranges::sort(order, [&](std::uint32_t a, std::uint32_t b) {
    const double one = load(a), other = load(b);
    return one != other ? one > other : a < b;
  });
  for (const std::uint32_t e : order) {
    const double host = m_state.host(worker), device = m_state.device(worker);
    if (std::max(host, device) <= m_limit) return;
    // An element with host load alone does not help an overloaded device.
    const bool helps = (host > m_limit && m_state.host_of(e, worker) > 0) ||
                       (device > m_limit && m_state.device_of(e, worker) > 0);
    if (!helps) continue;
    const std::uint32_t to = m_state.best_worker(e);
    const std::uint32_t mine = m_state.loads().workers[worker].device;
    const bool shares = mine != no_device && m_state.loads().workers[to].device == mine;
    if (to == worker || m_state.level_with(e, to, shares) > m_limit) continue;
    move(e, to);
  }
}

void improver::unload() {
  std::vector<std::uint32_t> order(m_members.size());
  std::iota(order.begin(), order.end(), 0U);
  std::vector<double> level(order.size());
  for (const std::uint32_t w : order) level[w] = m_state.level(w);
  std::ranges::stable_sort(order, [&](auto a, auto b) { return level[a] > level[b]; });
  for (const std::uint32_t w : order)
    if (m_state.level(w) > m_limit) unload_worker(w);
}

std::vector<std::uint32_t> improver::targets() const {
  std::vector<std::uint32_t> found;
  if (m_members.size() > few_workers) {
    m_state.add_candidates(found);
    return found;
  }
  found.resize(m_members.size());
  std::iota(found.begin(), found.end(), 0U);
  return found;
}

std::vector<std::uint32_t> improver::bottleneck(std::uint32_t worker, bool on_device) const {
  if (!on_device) return m_members[worker];
  std::vector<std::uint32_t> found;
  for (const std::uint32_t w : m_state.sharing(m_state.loads().workers[worker].device))
    for (const std::uint32_t e : m_members[w])
      if (m_state.device_of(e, w) > 0) found.push_back(e);
  return found;
}

void improver::try_move(std::uint32_t element, std::uint32_t to, change& best) {
  ++m_budget;
  const std::uint32_t from = m_state.worker_of()[element];
  if (from == to || !m_state.fits(element, to)) return;
  const auto& workers = m_state.loads().workers;
  const bool shares =
      workers[from].device != no_device && workers[from].device == workers[to].device;
  const double left =
      std::max(m_state.host(from) - m_state.host_of(element, from),
               m_state.device(from) - (shares ? 0 : m_state.device_of(element, from)));
  const double level = std::max(left, m_state.level_with(element, to, shares));
  if (level < best.level) best = {level, element, to, 0, false, true};
}

void improver::try_swap(std::uint32_t element, std::uint32_t other, change& best) {
  ++m_budget;
  const std::uint32_t here = m_state.worker_of()[element], there = m_state.worker_of()[other];
  const auto& workers = m_state.loads().workers;
  const bool shares =
      workers[here].device != no_device && workers[here].device == workers[there].device;
  double level = std::max(
      m_state.host(here) - m_state.host_of(element, here) + m_state.host_of(other, here),
      m_state.host(there) - m_state.host_of(other, there) + m_state.host_of(element, there));
  const double device_here =
      shares ? 0 : m_state.device_of(other, here) - m_state.device_of(element, here);
  const double device_there =
      shares ? 0 : m_state.device_of(element, there) - m_state.device_of(other, there);
  level =
      std::max({level, m_state.device(here) + device_here, m_state.device(there) + device_there});
  if (level < best.level && m_state.can_swap(element, other))
    best = {level, element, there, other, true, true};
}

improver::change improver::find(std::uint32_t worker, bool on_device) {
  change best;
  best.level = m_state.level(worker) * below;
  const std::vector<std::uint32_t> from = bottleneck(worker, on_device), to = targets();
  for (const std::uint32_t e : from)
    for (const std::uint32_t w : to) try_move(e, w, best);
  if (best.is_found) return best;
  for (std::size_t i = 0; i < std::min(from.size(), few_elements); ++i)
    for (const std::uint32_t w : to) {
      if (w == m_state.worker_of()[from[i]]) continue;
      for (std::size_t k = 0; k < std::min(m_members[w].size(), few_elements); ++k)
        try_swap(from[i], m_members[w][k], best);
    }
  return best;
}

void improver::apply(const change& chosen) {
  const std::uint32_t from = m_state.worker_of()[chosen.element];
  if (chosen.is_swap) {
    // The first move may exceed a device's memory for a moment; `can_swap` has checked the result.
    move(chosen.element, chosen.worker);
    move(chosen.other, from);
  } else {
    move(chosen.element, chosen.worker);
  }
}

void improver::run(std::uint64_t budget) {
  for (m_budget = 0; m_budget < budget && !m_members.empty(); ++m_budget) {
    const std::uint32_t worker = m_by_load.best();
    const double host = m_state.host(worker), device = m_state.device(worker);
    if (std::max(host, device) <= m_limit) return;
    const change chosen = find(worker, device > host);
    if (!chosen.is_found) return;
    apply(chosen);
  }
}

std::vector<std::uint32_t> refined(const snapshot& loads, std::vector<std::uint32_t> worker_of,
                                   double ideal, double tolerance) {
  load_state state(loads, std::move(worker_of));
  relieve_memory(state);
  const bool has_both = std::ranges::any_of(
      loads.elements, [](const element_load& e) { return e.device_seconds > 0; });
  const bool is_large = loads.elements.size() * loads.workers.size() > 4096;
  if (has_both && is_large) {
    constexpr unsigned rounds = 30;
    std::vector<std::uint32_t> diffused = diffuse(state, ideal * (1 + tolerance), rounds);
    state = load_state(loads, std::move(diffused));
  }
  improver search(state, ideal, tolerance);
  search.unload();
  search.run(20 * loads.elements.size() + 1'000'000);
  return std::move(state).take();
}

}  // namespace starling::balance
