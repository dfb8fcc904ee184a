// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <string>

#include <starling/core/error.hpp>
#include <starling/objects/balance/snapshot.hpp>

#include "balancers.hpp"

namespace starling::balance {

bool is_amount(double value) noexcept { return std::isfinite(value) && value >= 0; }

namespace {

[[noreturn]] void refuse(const char* what, std::size_t position, const std::string& why) {
  throw usage_error("wrong loads: " + std::string(what) + " " + std::to_string(position) + " " +
                    why);
}

bool is_speed(double value) { return std::isfinite(value) && value > 0; }

void check_places(const snapshot& loads) {
  for (std::size_t i = 0; i < loads.devices.size(); ++i)
    if (!is_speed(loads.devices[i].speed)) refuse("device", i, "has a speed that is not above 0");
  // Tables by rank are made, so that a wrong rank must not make them large.
  const std::size_t most_ranks = 1 << 24;
  for (std::size_t i = 0; i < loads.workers.size(); ++i) {
    const worker_info& w = loads.workers[i];
    if (!is_speed(w.speed)) refuse("worker", i, "has a speed that is not above 0");
    if (w.rank >= most_ranks) refuse("worker", i, "has a rank that is not below 2^24");
    if (w.device != no_device && w.device >= loads.devices.size())
      refuse("worker", i,
             "names device " + std::to_string(w.device) + ", but there are " +
                 std::to_string(loads.devices.size()) + " devices");
  }
  if (loads.workers.empty() && !loads.elements.empty())
    throw usage_error("wrong loads: there are elements, but no workers");
}

void check_element(const snapshot& loads, std::size_t i) {
  const element_load& e = loads.elements[i];
  if (e.worker >= loads.workers.size())
    refuse("element", i,
           "is on worker " + std::to_string(e.worker) + ", but there are " +
               std::to_string(loads.workers.size()) + " workers");
  if (!is_amount(e.host_seconds) || !is_amount(e.device_seconds))
    refuse("element", i, "has a load that is negative or not a number");
  if (e.has_position && !std::ranges::all_of(e.position, [](double x) { return std::isfinite(x); }))
    refuse("element", i, "has a coordinate that is not a finite number");
  const bool needs_device = e.device_seconds > 0 || e.device_bytes > 0;
  if (needs_device && loads.workers[e.worker].device == no_device)
    refuse("element", i, "has device load or device memory, but its worker has no device");
}

void check_bytes(const snapshot& loads) {
  double sum = 0;
  for (const element_load& e : loads.elements)
    sum += double(e.state_bytes) + double(e.device_bytes);
  if (sum > 0x1p63) throw usage_error("wrong loads: the elements have more than 2^63 bytes");
}

void check_ids(const snapshot& loads) {
  const auto by_id = [](const element_load& e) { return e.id; };
  const auto is_sorted = std::ranges::adjacent_find(loads.elements, std::greater_equal<>(), by_id);
  if (is_sorted == loads.elements.end()) return;  // strictly increasing
  std::vector<std::uint64_t> ids;
  ids.reserve(loads.elements.size());
  for (const element_load& e : loads.elements) ids.push_back(e.id);
  std::ranges::sort(ids);
  const auto twice = std::ranges::adjacent_find(ids);
  if (twice != ids.end())
    throw usage_error("wrong loads: two elements have the id " + std::to_string(*twice));
}

void check_edges(const snapshot& loads) {
  for (std::size_t i = 0; i < loads.edges.size(); ++i) {
    const traffic& edge = loads.edges[i];
    if (std::max(edge.from, edge.to) >= loads.elements.size())
      refuse("edge", i, "names an element beyond the last one");
    if (!is_amount(edge.bytes) || !is_amount(edge.messages))
      refuse("edge", i, "has an amount that is negative or not a number");
  }
}

/// Sums of the loads, and the largest loads of one element.
struct totals {
  double host = 0, device = 0, largest_host = 0, largest_device = 0;
};

double ideal_time(const snapshot& loads) {
  totals t;
  for (const element_load& e : loads.elements) {
    t.host += e.host_seconds;
    t.device += e.device_seconds;
    t.largest_host = std::max(t.largest_host, e.host_seconds);
    t.largest_device = std::max(t.largest_device, e.device_seconds);
  }
  double workers = 0, fastest_worker = 0, devices = 0, fastest_device = 0;
  std::vector<bool> is_counted(loads.devices.size());
  for (const worker_info& w : loads.workers) {
    workers += w.speed;
    fastest_worker = std::max(fastest_worker, w.speed);
    if (w.device == no_device || is_counted[w.device]) continue;
    is_counted[w.device] = true;
    devices += loads.devices[w.device].speed;
    fastest_device = std::max(fastest_device, loads.devices[w.device].speed);
  }
  double ideal = 0;
  if (workers > 0) ideal = std::max(t.host / workers, t.largest_host / fastest_worker);
  if (devices > 0) ideal = std::max({ideal, t.device / devices, t.largest_device / fastest_device});
  return ideal;
}

void add_network(const snapshot& loads, std::span<const std::uint32_t> worker_of, estimate& into) {
  if (loads.edges.empty()) return;
  std::vector<double> seconds(loads.rank_count());
  const double for_byte = loads.costs.bytes_per_second > 0 ? 1 / loads.costs.bytes_per_second : 0.0;
  for (const traffic& edge : loads.edges) {
    const std::uint32_t from = loads.workers[worker_of[edge.from]].rank;
    const std::uint32_t to = loads.workers[worker_of[edge.to]].rank;
    if (from == to) continue;
    into.bytes_between_ranks += edge.bytes;
    const double time = edge.messages * loads.costs.latency_seconds + edge.bytes * for_byte;
    seconds[from] += time;
    seconds[to] += time;
  }
  into.network_seconds = *std::ranges::max_element(seconds);
}

}  // namespace

std::uint32_t snapshot::rank_count() const noexcept {
  std::uint32_t count = 0;
  for (const worker_info& w : workers) count = std::max(count, w.rank + 1);
  return count;
}

void require_valid(const snapshot& loads) {
  check_places(loads);
  for (std::size_t i = 0; i < loads.elements.size(); ++i) check_element(loads, i);
  check_bytes(loads);
  check_ids(loads);
  check_edges(loads);
  const cost_model& c = loads.costs;
  for (const double cost :
       {c.seconds_per_migration, c.seconds_per_byte, c.bytes_per_second, c.latency_seconds})
    if (!is_amount(cost)) throw usage_error("wrong loads: a cost is negative or not a number");
  if (!is_amount(loads.steps)) throw usage_error("wrong loads: the number of steps is negative");
}

std::vector<std::uint32_t> current_workers(const snapshot& loads) {
  std::vector<std::uint32_t> worker_of;
  worker_of.reserve(loads.elements.size());
  for (const element_load& e : loads.elements) worker_of.push_back(e.worker);
  return worker_of;
}

estimate estimate_step(const snapshot& loads, std::span<const std::uint32_t> worker_of) {
  estimate result;
  std::vector<double> host(loads.workers.size()), device(loads.devices.size());
  std::vector<std::uint64_t> memory(loads.devices.size());
  for (std::size_t i = 0; i < loads.elements.size(); ++i) {
    const element_load& e = loads.elements[i];
    host[worker_of[i]] += e.host_seconds;
    const std::uint32_t d = loads.workers[worker_of[i]].device;
    if (d == no_device) continue;
    device[d] += e.device_seconds;
    memory[d] += e.device_bytes;
  }
  for (std::size_t w = 0; w < host.size(); ++w)
    result.host_seconds = std::max(result.host_seconds, host[w] / loads.workers[w].speed);
  for (std::size_t d = 0; d < device.size(); ++d) {
    result.device_seconds = std::max(result.device_seconds, device[d] / loads.devices[d].speed);
    const std::uint64_t limit = loads.devices[d].memory_bytes;
    if (memory[d] > limit) result.overfull_bytes += memory[d] - limit;
  }
  add_network(loads, worker_of, result);
  result.step_seconds =
      std::max({result.host_seconds, result.device_seconds, result.network_seconds});
  result.ideal_seconds = ideal_time(loads);
  return result;
}

}  // namespace starling::balance
