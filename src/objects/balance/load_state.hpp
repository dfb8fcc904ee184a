// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include <starling/objects/balance/snapshot.hpp>

#include "winner_tree.hpp"

namespace starling::balance {

/// Loads of all workers and devices while a balancer changes the assignment. Each change is a
/// migration that could be carried out alone: memory counts elements where they are at the moment.
class load_state {
 public:
  /// Begins with the assignment `worker_of`. `is_empty`: its memory is counted, its loads are not;
  /// `place` then adds the elements one by one.
  load_state(const snapshot& loads, std::vector<std::uint32_t> worker_of, bool is_empty = false);

  [[nodiscard]] const snapshot& loads() const noexcept { return *m_loads; }
  [[nodiscard]] const std::vector<std::uint32_t>& worker_of() const noexcept { return m_worker_of; }
  [[nodiscard]] std::vector<std::uint32_t> take() && { return std::move(m_worker_of); }

  /// Loads in seconds on this worker and its device.
  [[nodiscard]] double host_of(std::uint32_t element, std::uint32_t worker) const noexcept;
  [[nodiscard]] double device_of(std::uint32_t element, std::uint32_t worker) const noexcept;
  [[nodiscard]] double host(std::uint32_t worker) const noexcept { return m_host[worker]; }
  [[nodiscard]] double device(std::uint32_t worker) const noexcept {
    const std::uint32_t d = m_loads->workers[worker].device;
    return d == no_device ? 0 : m_device[d];
  }
  /// The larger of the loads of a worker and its device.
  [[nodiscard]] double level(std::uint32_t worker) const noexcept;
  /// That level after `element` has been added from a worker with another device, or from no
  /// worker; `shares_device`: its device load is already there.
  [[nodiscard]] double level_with(std::uint32_t element, std::uint32_t worker,
                                  bool shares_device = false) const noexcept;

  /// Returns whether the element can be on the worker: there is a device if it needs one, and
  /// memory.
  [[nodiscard]] bool fits(std::uint32_t element, std::uint32_t worker) const noexcept;
  /// The same for an exchange of two elements.
  [[nodiscard]] bool can_swap(std::uint32_t one, std::uint32_t other) const noexcept;
  [[nodiscard]] bool is_overfull(std::uint32_t device) const noexcept {
    return m_memory[device] > m_loads->devices[device].memory_bytes;
  }

  /// Moves an element with its loads and its memory.
  void move(std::uint32_t element, std::uint32_t worker);
  /// Adds the loads of an element whose loads are not counted yet, and moves its memory.
  void place(std::uint32_t element, std::uint32_t worker);

  /// Workers of a device.
  [[nodiscard]] const std::vector<std::uint32_t>& sharing(std::uint32_t device) const noexcept {
    return m_sharing[device];
  }
  /// The worker where `element` adds least to the sum of the fourth powers of all loads, among the
  /// workers with the least host load, the least device load and the least sum of both; among all
  /// workers if it fits on none of these. Its own worker if it fits nowhere else. The power makes
  /// large loads count most, and lets an element with device load alone go where host load is
  /// large.
  [[nodiscard]] std::uint32_t best_worker(std::uint32_t element) const;
  /// Appends the candidates of `best_worker`.
  void add_candidates(std::vector<std::uint32_t>& into) const;

 private:
  void change(std::uint32_t element, std::uint32_t worker, double sign);
  void change_memory(std::uint32_t element, std::uint32_t worker);
  void update(std::uint32_t worker);
  [[nodiscard]] std::uint32_t least_on_device() const noexcept;
  [[nodiscard]] double growth(std::uint32_t element, std::uint32_t worker) const noexcept;
  [[nodiscard]] bool is_better(std::uint32_t element, std::uint32_t worker,
                               std::uint32_t than) const noexcept;

  const snapshot* m_loads;
  std::vector<std::uint32_t> m_worker_of;
  std::vector<double> m_host;           // by worker, seconds
  std::vector<double> m_device;         // by device, seconds
  std::vector<std::uint64_t> m_memory;  // by device, bytes
  std::vector<std::vector<std::uint32_t>> m_sharing;
  std::vector<double> m_typical;  // mean host load of an element, by worker: a slow worker has more
  winner_tree m_by_host, m_by_device, m_by_sum;
};

/// Adds, in order of the elements, the moves that take elements from overfull devices, where other
/// devices have room.
void relieve_memory(load_state& state);

/// Runs rounds of diffusive balancing of all workers in turn, until no load exceeds `limit`.
/// Returns the assignment with the least largest load.
[[nodiscard]] std::vector<std::uint32_t> diffuse(load_state& state, double limit, unsigned rounds);

}  // namespace starling::balance
