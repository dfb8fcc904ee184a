// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "load_state.hpp"

namespace starling::balance {

/// Local search: takes the worker or device with the largest load and migrates one of its elements,
/// or exchanges it with another, so that both ends stay below that load. Ends when no such change
/// exists, when the load is within the tolerance of `ideal`, or after `budget` tested changes.
class improver {
 public:
  improver(load_state& state, double ideal, double tolerance);

  /// First passes over all overloaded workers from the largest load on: moves their largest
  /// elements that fit below the limit elsewhere. Few migrations; n log n time.
  void unload();
  /// The search itself.
  void run(std::uint64_t budget);

 private:
  struct change {
    double level = 0;  // largest load of both ends afterwards
    std::uint32_t element = 0, worker = 0, other = 0;
    bool is_swap = false, is_found = false;
  };
  [[nodiscard]] std::vector<std::uint32_t> targets() const;
  [[nodiscard]] std::vector<std::uint32_t> bottleneck(std::uint32_t worker, bool on_device) const;
  void unload_worker(std::uint32_t worker);
  void try_move(std::uint32_t element, std::uint32_t to, change& best);
  void try_swap(std::uint32_t element, std::uint32_t other, change& best);
  [[nodiscard]] change find(std::uint32_t worker, bool on_device);
  void apply(const change& chosen);
  void move(std::uint32_t element, std::uint32_t worker);
  void update(std::uint32_t worker);

  load_state& m_state;
  double m_limit;
  std::uint64_t m_budget = 0;
  std::vector<std::vector<std::uint32_t>> m_members;  // movable elements, by worker
  std::vector<std::uint32_t> m_position;              // of an element in its worker's members
  winner_tree m_by_load;                              // keys are negative levels
};

/// Brings the loads of `worker_of` within the tolerance of `ideal` with few migrations, and takes
/// elements from overfull devices. Large problems with two kinds of load begin with diffusion,
/// which exchanges one kind for the other between many workers at once.
[[nodiscard]] std::vector<std::uint32_t> refined(const snapshot& loads,
                                                 std::vector<std::uint32_t> worker_of, double ideal,
                                                 double tolerance);

}  // namespace starling::balance
