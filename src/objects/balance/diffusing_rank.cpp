// SPDX-License-Identifier: Apache-2.0
#include "diffusing_rank.hpp"

#include <algorithm>
#include <iterator>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "balancers.hpp"
#include "improver.hpp"
#include "load_state.hpp"

namespace starling::balance {
namespace {

std::vector<worker_place> devices_of(std::span<const worker_place> workers) {
  std::vector<worker_place> devices;
  for (const worker_place& w : workers)
    if (w.key != 0 && std::ranges::find(devices, w.key, &worker_place::key) == devices.end())
      devices.push_back(w);
  return devices;
}

auto where(const diffusing_element& e) { return std::tuple(e.worker, e.slot); }

std::uint64_t difference(std::uint64_t a, std::uint64_t b) { return a > b ? a - b : 0; }

/// Moves element `e` to the worker where it makes the least level, among those on which it fits.
void move_to_least(load_state& state, std::uint32_t e) {
  std::uint32_t best = no_device;
  for (std::uint32_t w = 0; w < state.loads().workers.size(); ++w)
    if (state.fits(e, w) &&
        (best == no_device || state.level_with(e, w) < state.level_with(e, best)))
      best = w;
  state.place(e, best == no_device ? state.worker_of()[e] : best);
}

/// A device with the loads of the elements of all ranks that share it.
struct whole_device : rank_device {
  std::uint32_t ranks = 0;
};

std::unordered_map<std::uint64_t, whole_device> all_devices(std::span<const rank_loads> ranks) {
  std::unordered_map<std::uint64_t, whole_device> devices;
  for (const rank_loads& r : ranks)
    for (const rank_device& d : r.devices) {
      whole_device& all = devices[d.key];
      all.memory_bytes = d.memory_bytes;
      all.seconds += d.seconds;
      all.bytes += d.bytes;
      ++all.ranks;
    }
  return devices;
}

}  // namespace

bool is_possible(const diffusing_element& e) noexcept {
  return is_amount(e.host_seconds) && is_amount(e.device_seconds);
}

bool is_possible(const diffusing_load& load) noexcept {
  return is_amount(load.level.host) && is_amount(load.level.device) && is_amount(load.workers) &&
         is_amount(load.devices);
}

bool is_possible(const rank_loads& loads) noexcept {
  return is_amount(loads.host_seconds) && is_amount(loads.largest_worker) &&
         is_amount(loads.largest_element) && is_amount(loads.largest_on_device) &&
         std::ranges::all_of(loads.devices, [](const rank_device& d) {
           return d.key != 0 && is_amount(d.seconds);
         });
}

estimate estimate_of(std::span<const rank_loads> ranks) {
  estimate found;
  double host = 0, workers = 0;
  for (const rank_loads& r : ranks) {
    host += r.host_seconds;
    workers += r.workers;
    found.host_seconds = std::max(found.host_seconds, r.largest_worker);
    found.ideal_seconds = std::max({found.ideal_seconds, r.largest_element, r.largest_on_device});
  }
  double device = 0;
  const auto devices = all_devices(ranks);
  for (const auto& [key, d] : devices) {
    device += d.seconds;
    found.device_seconds = std::max(found.device_seconds, d.seconds);
    found.overfull_bytes += difference(d.bytes, d.memory_bytes);
  }
  found.step_seconds = std::max(found.host_seconds, found.device_seconds);
  if (workers > 0) found.ideal_seconds = std::max(found.ideal_seconds, host / workers);
  if (!devices.empty())
    found.ideal_seconds = std::max(found.ideal_seconds, device / double(devices.size()));
  return found;
}

std::vector<std::vector<device_share>> shares_of(std::span<const rank_loads> ranks) {
  const auto devices = all_devices(ranks);
  std::vector<std::vector<device_share>> shares(ranks.size());
  for (std::size_t r = 0; r < ranks.size(); ++r)
    for (const rank_device& d : ranks[r].devices) {
      const whole_device& all = devices.at(d.key);
      const std::uint64_t limit =
          all.bytes <= all.memory_bytes
              ? d.bytes + (all.memory_bytes - all.bytes) / all.ranks
              : std::uint64_t(double(d.bytes) * (double(all.memory_bytes) / double(all.bytes)));
      shares[r].push_back({all.ranks, limit});
    }
  return shares;
}

diffusing_rank::diffusing_rank(std::uint32_t first_worker, std::vector<worker_place> workers,
                               std::vector<diffusing_element> elements)
    : m_first_worker(first_worker), m_workers(std::move(workers)), m_devices(devices_of(m_workers)),
      m_elements(std::move(elements)) {
  for (const worker_place& d : m_devices) m_shares.push_back({1, d.memory_bytes});
  std::ranges::sort(m_elements, {}, where);
  for (diffusing_element& e : m_elements)
    if (m_workers[e.worker - m_first_worker].key == 0) e.device_seconds = e.device_bytes = 0;
  require_valid(as_snapshot());
  m_own = m_elements;
}

std::uint32_t diffusing_rank::device_of(std::uint32_t worker) const noexcept {
  const auto found = std::ranges::find(m_devices, m_workers[worker].key, &worker_place::key);
  return found == m_devices.end() ? no_device : std::uint32_t(found - m_devices.begin());
}

std::vector<std::uint64_t> diffusing_rank::own_bytes() const {
  std::vector<std::uint64_t> bytes(m_devices.size());
  for (const diffusing_element& e : m_elements)
    if (is_own(e) && e.device_bytes > 0)
      bytes[device_of(e.worker - m_first_worker)] += e.device_bytes;
  return bytes;
}

snapshot diffusing_rank::as_snapshot() const {
  snapshot s;
  const std::vector<std::uint64_t> used = own_bytes();
  std::uint64_t most = 0;
  std::uint32_t roomy = 0;  // a worker of the device with most memory
  for (const device_share& d : m_shares) s.devices.push_back({.memory_bytes = d.limit_bytes});
  for (std::uint32_t w = 0; w < m_workers.size(); ++w) {
    const std::uint32_t d = device_of(w);
    s.workers.push_back({.device = d});
    if (d == no_device || difference(m_shares[d].limit_bytes, used[d]) <= most) continue;
    most = difference(m_shares[d].limit_bytes, used[d]);
    roomy = w;
  }
  for (const diffusing_element& e : m_elements)
    s.elements.push_back({.id = s.elements.size(),
                          .worker = is_own(e) ? e.worker - m_first_worker : roomy,
                          .host_seconds = e.host_seconds,
                          .device_seconds = e.device_seconds,
                          .state_bytes = e.state_bytes,
                          .device_bytes = e.device_bytes,
                          .is_anchored = e.is_anchored});
  return s;
}

rank_loads diffusing_rank::loads_of(const snapshot& s,
                                    std::span<const std::uint32_t> worker_of) const {
  rank_loads loads;
  loads.workers = std::uint32_t(m_workers.size());
  for (const worker_place& d : m_devices) loads.devices.push_back({d.key, d.memory_bytes, 0, 0});
  std::vector<double> host(m_workers.size());
  for (std::size_t i = 0; i < worker_of.size(); ++i) {
    const element_load& e = s.elements[i];
    host[worker_of[i]] += e.host_seconds;
    loads.host_seconds += e.host_seconds;
    loads.largest_element = std::max(loads.largest_element, e.host_seconds);
    const std::uint32_t d = s.workers[worker_of[i]].device;
    if (d == no_device) continue;
    loads.largest_on_device = std::max(loads.largest_on_device, e.device_seconds);
    loads.devices[d].seconds += e.device_seconds;
    loads.devices[d].bytes += e.device_bytes;
  }
  loads.largest_worker = *std::ranges::max_element(host);
  return loads;
}

rank_loads diffusing_rank::loads_before() const {
  const snapshot s = as_snapshot();
  return loads_of(s, current_workers(s));
}

diffusing_load diffusing_rank::load() const {
  diffusing_load mine;
  mine.workers = double(m_workers.size());
  std::uint64_t foreign = 0;
  for (const diffusing_element& e : m_elements) {
    mine.level.host += e.host_seconds;
    mine.level.device += e.device_seconds;
    if (!is_own(e)) foreign += e.device_bytes;
  }
  const std::vector<std::uint64_t> used = own_bytes();
  for (std::size_t d = 0; d < m_devices.size(); ++d) {
    mine.device_keys += m_devices[d].key;
    mine.devices += 1.0 / m_shares[d].ranks;
    mine.free_bytes = std::max(mine.free_bytes, difference(m_shares[d].limit_bytes, used[d]));
  }
  mine.free_bytes = difference(mine.free_bytes, foreign);
  mine.level.host /= mine.workers;
  if (mine.devices > 0) mine.level.device /= mine.devices;
  return mine;
}

/// Gives elements of overfull devices while there is room on the partner.
void diffusing_rank::give_for_memory(std::vector<bool>& is_given, std::uint64_t& room) const {
  std::vector<std::uint64_t> used = own_bytes();
  for (std::uint32_t i = 0; i < m_elements.size(); ++i) {
    const diffusing_element& e = m_elements[i];
    if (!is_own(e) || e.is_anchored || e.is_bound_to_rank || e.device_bytes == 0) continue;
    const std::uint32_t d = device_of(e.worker - m_first_worker);
    if (used[d] <= m_shares[d].limit_bytes || e.device_bytes > room) continue;
    is_given[i] = true;
    used[d] -= e.device_bytes;
    room -= e.device_bytes;
  }
}

std::vector<diffusing_element> diffusing_rank::give(const diffusing_load& mine,
                                                    const diffusing_load& partner, double factor) {
  const bool is_shared = mine.device_keys == partner.device_keys;
  std::uint64_t room = factor > 1 ? partner.free_bytes : partner.free_bytes / 2;
  diffusion::load_pair wanted = diffusion::flow(mine.level, partner.level);
  wanted.host *= factor * std::min(mine.workers, partner.workers);
  wanted.device *= is_shared ? 0 : factor * std::min(mine.devices, partner.devices);

  std::vector<bool> is_given(m_elements.size());
  if (!is_shared) give_for_memory(is_given, room);
  std::vector<diffusion::load_pair> candidates;
  std::vector<std::uint32_t> fitting;
  for (std::uint32_t i = 0; i < m_elements.size(); ++i) {
    diffusing_element& e = m_elements[i];
    if (is_given[i]) {
      wanted.host -= e.host_seconds;
      wanted.device -= e.device_seconds;
      e.why = reason::device_memory;
      continue;
    }
    const bool needs_device = e.device_seconds > 0 || e.device_bytes > 0;
    if (e.is_anchored || e.is_bound_to_rank || (needs_device && partner.devices == 0)) continue;
    fitting.push_back(i);
    candidates.push_back({e.host_seconds, is_shared ? 0 : e.device_seconds});
  }
  const bool has_device_flow = wanted.device > wanted.host;
  std::vector<bool> is_taken(fitting.size());
  for (const std::uint32_t c : diffusion::choose(candidates, wanted, is_taken)) {
    diffusing_element& e = m_elements[fitting[c]];
    if (e.device_bytes > room) continue;
    room -= e.device_bytes;
    is_given[fitting[c]] = true;
    e.why = has_device_flow && e.device_seconds > 0 ? reason::device_load : reason::host_load;
  }
  std::vector<diffusing_element> given, kept;
  for (std::size_t i = 0; i < m_elements.size(); ++i)
    (is_given[i] ? given : kept).push_back(m_elements[i]);
  m_elements = std::move(kept);
  return given;
}

void diffusing_rank::take(std::span<const diffusing_element> elements) {
  m_elements.insert(m_elements.end(), elements.begin(), elements.end());
  std::ranges::sort(m_elements, {}, where);
}

std::vector<std::uint32_t> diffusing_rank::assign(const snapshot& s, double ideal,
                                                  double tolerance) const {
  load_state state(s, current_workers(s), true);
  for (std::uint32_t i = 0; i < m_elements.size(); ++i)
    if (is_own(m_elements[i])) state.place(i, s.elements[i].worker);
  for (std::uint32_t i = 0; i < m_elements.size(); ++i)
    if (!is_own(m_elements[i])) move_to_least(state, i);
  std::vector<std::uint32_t> worker_of = std::move(state).take();
  const double level = estimate_step(s, worker_of).ideal_seconds;
  return refined(s, std::move(worker_of), std::max(ideal, level), tolerance);
}

std::vector<diffusing_element> diffusing_rank::absent() const {
  std::vector<diffusing_element> found;
  std::ranges::set_difference(m_own, m_elements, std::back_inserter(found), {}, where, where);
  return found;
}

diffusing_rank::result diffusing_rank::place(const cost_model& costs, double ideal,
                                             double tolerance) const {
  const snapshot s = as_snapshot();
  const std::vector<std::uint32_t> worker_of = assign(s, ideal, tolerance);
  const std::vector<diffusing_element> gone = absent();
  result end;
  end.loads = loads_of(s, worker_of);
  end.left = std::uint32_t(gone.size());
  std::vector<double> seconds(m_workers.size());
  const auto add_cost = [&](std::uint32_t worker, std::uint64_t bytes) {
    seconds[worker] += costs.seconds_per_migration + double(bytes) * costs.seconds_per_byte;
  };
  for (const diffusing_element& e : gone)
    add_cost(e.worker - m_first_worker, e.state_bytes + e.device_bytes);
  for (std::uint32_t i = 0; i < m_elements.size(); ++i) {
    const diffusing_element& e = m_elements[i];
    const std::uint32_t to = worker_of[i];
    if (!is_own(e)) {
      add_cost(to, e.state_bytes + e.device_bytes);
      end.bytes += e.state_bytes + e.device_bytes;
      end.arrived.push_back({e.worker, e.slot, m_first_worker + to, e.why});
    } else if (const std::uint32_t from = e.worker - m_first_worker; from != to) {
      const bool keeps_memory = s.workers[from].device == s.workers[to].device;
      const std::uint64_t bytes = keeps_memory ? 0 : e.device_bytes;
      add_cost(from, bytes);
      add_cost(to, bytes);
      end.bytes += bytes;
      const bool is_for_device = !keeps_memory && e.device_seconds > e.host_seconds;
      end.moved.push_back({e.worker, e.slot, m_first_worker + to,
                           is_for_device ? reason::device_load : reason::host_load});
    }
  }
  end.cost_seconds = *std::ranges::max_element(seconds);
  return end;
}

}  // namespace starling::balance
