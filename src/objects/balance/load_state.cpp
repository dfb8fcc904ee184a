// SPDX-License-Identifier: Apache-2.0
#include "load_state.hpp"

#include <algorithm>
#include <utility>

namespace starling::balance {

load_state::load_state(const snapshot& loads, std::vector<std::uint32_t> worker_of, bool is_empty)
    : m_loads(&loads), m_worker_of(std::move(worker_of)), m_host(loads.workers.size()),
      m_device(loads.devices.size()), m_memory(loads.devices.size()),
      m_sharing(loads.devices.size()), m_typical(loads.workers.size()),
      m_by_host(loads.workers.size()), m_by_device(loads.devices.size()),
      m_by_sum(loads.workers.size()) {
  double sum = 0;
  for (const element_load& e : loads.elements) sum += e.host_seconds;
  const double mean = loads.elements.empty() ? 0 : sum / double(loads.elements.size());
  for (std::uint32_t w = 0; w < loads.workers.size(); ++w) {
    m_typical[w] = mean / loads.workers[w].speed;
    if (loads.workers[w].device != no_device) m_sharing[loads.workers[w].device].push_back(w);
  }
  for (std::uint32_t e = 0; e < loads.elements.size(); ++e) {
    const std::uint32_t w = m_worker_of[e], d = loads.workers[w].device;
    if (d != no_device) m_memory[d] += loads.elements[e].device_bytes;
    if (is_empty) continue;
    m_host[w] += host_of(e, w);
    if (d != no_device) m_device[d] += device_of(e, w);
  }
  for (std::uint32_t w = 0; w < loads.workers.size(); ++w) update(w);
}

double load_state::host_of(std::uint32_t element, std::uint32_t worker) const noexcept {
  return m_loads->elements[element].host_seconds / m_loads->workers[worker].speed;
}

double load_state::device_of(std::uint32_t element, std::uint32_t worker) const noexcept {
  const std::uint32_t d = m_loads->workers[worker].device;
  return d == no_device ? 0 : m_loads->elements[element].device_seconds / m_loads->devices[d].speed;
}

double load_state::level(std::uint32_t worker) const noexcept {
  return std::max(host(worker), device(worker));
}

double load_state::level_with(std::uint32_t element, std::uint32_t worker,
                              bool shares_device) const noexcept {
  const double added = shares_device ? 0 : device_of(element, worker);
  return std::max(host(worker) + host_of(element, worker), device(worker) + added);
}

bool load_state::fits(std::uint32_t element, std::uint32_t worker) const noexcept {
  const element_load& e = m_loads->elements[element];
  const std::uint32_t to = m_loads->workers[worker].device;
  if (to == no_device) return e.device_seconds == 0 && e.device_bytes == 0;
  if (to == m_loads->workers[m_worker_of[element]].device || e.device_bytes == 0) return true;
  const std::uint64_t limit = m_loads->devices[to].memory_bytes;
  return m_memory[to] <= limit && e.device_bytes <= limit - m_memory[to];
}

bool load_state::can_swap(std::uint32_t one, std::uint32_t other) const noexcept {
  const auto fits_without = [this](std::uint32_t moved, std::uint32_t leaving) {
    const element_load& e = m_loads->elements[moved];
    const std::uint32_t to = m_loads->workers[m_worker_of[leaving]].device;
    if (to == no_device) return e.device_seconds == 0 && e.device_bytes == 0;
    if (to == m_loads->workers[m_worker_of[moved]].device) return true;
    const std::uint64_t gone = m_loads->elements[leaving].device_bytes;
    if (e.device_bytes <= gone) return true;
    return m_memory[to] - gone + e.device_bytes <= m_loads->devices[to].memory_bytes;
  };
  return fits_without(one, other) && fits_without(other, one);
}

void load_state::move(std::uint32_t element, std::uint32_t worker) {
  change(element, m_worker_of[element], -1);
  change_memory(element, worker);
  change(element, worker, 1);
}

void load_state::place(std::uint32_t element, std::uint32_t worker) {
  change_memory(element, worker);
  change(element, worker, 1);
}

void load_state::change(std::uint32_t element, std::uint32_t worker, double sign) {
  m_host[worker] += sign * host_of(element, worker);
  const std::uint32_t d = m_loads->workers[worker].device;
  const double on_device = device_of(element, worker);
  if (on_device == 0) return update(worker);
  m_device[d] += sign * on_device;
  for (const std::uint32_t w : m_sharing[d]) update(w);
}

void load_state::change_memory(std::uint32_t element, std::uint32_t worker) {
  const std::uint64_t bytes = m_loads->elements[element].device_bytes;
  const std::uint32_t from = m_loads->workers[m_worker_of[element]].device;
  const std::uint32_t to = m_loads->workers[worker].device;
  if (from != no_device) m_memory[from] -= bytes;
  if (to != no_device) m_memory[to] += bytes;
  m_worker_of[element] = worker;
}

void load_state::update(std::uint32_t worker) {
  m_by_host.set(worker, m_host[worker] + m_typical[worker]);
  if (m_device.empty()) return;
  m_by_sum.set(worker, m_host[worker] + m_typical[worker] + device(worker));
  const std::uint32_t d = m_loads->workers[worker].device;
  if (d != no_device) m_by_device.set(d, m_device[d]);
}

std::uint32_t load_state::least_on_device() const noexcept {
  const auto& workers = m_sharing[m_by_device.best()];
  const auto less = [this](std::uint32_t a, std::uint32_t b) { return m_host[a] < m_host[b]; };
  return workers.empty() ? m_by_host.best() : *std::ranges::min_element(workers, less);
}

void load_state::add_candidates(std::vector<std::uint32_t>& into) const {
  into.push_back(m_by_host.best());
  if (m_device.empty()) return;
  into.push_back(m_by_sum.best());
  into.push_back(least_on_device());
}

double load_state::growth(std::uint32_t element, std::uint32_t worker) const noexcept {
  const auto fourth = [](double load) { return load * load * load * load; };
  const double h = host(worker), d = device(worker);
  return fourth(h + host_of(element, worker)) - fourth(h) + fourth(d + device_of(element, worker)) -
         fourth(d);
}

bool load_state::is_better(std::uint32_t element, std::uint32_t worker,
                           std::uint32_t than) const noexcept {
  if (worker == than || !fits(element, worker)) return false;
  if (!fits(element, than)) return true;
  const double one = growth(element, worker), other = growth(element, than);
  return one != other ? one < other : worker < than;
}

std::uint32_t load_state::best_worker(std::uint32_t element) const {
  std::uint32_t best = m_by_host.best();
  if (!m_device.empty()) {
    for (const std::uint32_t w : {m_by_sum.best(), least_on_device()})
      if (is_better(element, w, best)) best = w;
  }
  if (fits(element, best)) return best;
  for (std::uint32_t w = 0; w < m_loads->workers.size(); ++w)
    if (is_better(element, w, best)) best = w;
  return fits(element, best) ? best : m_worker_of[element];
}

void relieve_memory(load_state& state) {
  const snapshot& loads = state.loads();
  for (std::uint32_t e = 0; e < loads.elements.size(); ++e) {
    const std::uint32_t d = loads.workers[state.worker_of()[e]].device;
    if (d == no_device || !state.is_overfull(d)) continue;
    if (loads.elements[e].is_anchored || loads.elements[e].device_bytes == 0) continue;
    std::uint32_t best = state.worker_of()[e];
    for (std::uint32_t w = 0; w < loads.workers.size(); ++w) {
      if (loads.workers[w].device == d || !state.fits(e, w)) continue;
      const bool is_first = loads.workers[best].device == d;
      if (is_first || state.level_with(e, w) < state.level_with(e, best)) best = w;
    }
    if (best != state.worker_of()[e]) state.move(e, best);
  }
}

}  // namespace starling::balance
