// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include <starling/objects/balance/diffusion.hpp>
#include <starling/objects/balance/plan.hpp>

/// Diffusive balancing between ranks, seen from one rank and without messages.
namespace starling::balance {

/// An element that may migrate to another rank, with its load in one step.
struct diffusing_element {
  std::uint32_t worker = 0;  // on which it waits, among all ranks
  std::uint32_t slot = 0;    // on that worker
  double host_seconds = 0;
  double device_seconds = 0;
  std::uint64_t state_bytes = 0;
  std::uint64_t device_bytes = 0;
  bool is_anchored = false;
  bool is_bound_to_rank = false;
  reason why = reason::host_load;  // of its migration to another rank
};

/// A device of a rank, with the load of the rank's elements.
struct rank_device {
  std::uint64_t key = 0;  // equal for one device, on all ranks that share it
  std::uint64_t memory_bytes = 0;
  double seconds = 0;
  std::uint64_t bytes = 0;
};

/// The loads of a rank, in seconds of a step.
struct rank_loads {
  std::uint32_t workers = 0;
  double host_seconds = 0;     // of all elements
  double largest_worker = 0;   // host seconds of the worker that has most
  double largest_element = 0;  // host seconds
  double largest_on_device = 0;
  std::vector<rank_device> devices;

  template <class Archive>
  void serialize(Archive& ar) {
    ar(workers, host_seconds, largest_worker, largest_element, largest_on_device, devices);
  }
};

/// The estimate of a step from the loads of all ranks; without messages between elements.
[[nodiscard]] estimate estimate_of(std::span<const rank_loads> ranks);

/// What a rank tells its partner in each round.
struct diffusing_load {
  diffusion::load_pair level;     // seconds on each worker, and on each device
  double workers = 0;             // number
  double devices = 0;             // number; a device that n ranks share counts 1/n
  std::uint64_t device_keys = 0;  // sum of the keys: equal for ranks that share their devices
  // On the device that has most, without what elements of other ranks need, which have no device
  // yet: so that no element comes for which no device has memory.
  std::uint64_t free_bytes = 0;
};

/// The device of a worker.
struct worker_place {
  std::uint64_t key = 0;  // 0: no device
  std::uint64_t memory_bytes = 0;
};

/// A rank's share of one of its devices.
struct device_share {
  std::uint32_t ranks = 1;        // that share the device
  std::uint64_t limit_bytes = 0;  // for the elements of the rank
};

/// Returns the shares of all ranks, each in the order of the devices in the rank's loads. Free
/// memory is divided equally; if there is none, each rank has to release the same part of what its
/// elements use.
[[nodiscard]] std::vector<std::vector<device_share>> shares_of(std::span<const rank_loads> ranks);

// Whether values of another rank are possible: loads are finite and not negative.
[[nodiscard]] bool is_possible(const diffusing_element& e) noexcept;
[[nodiscard]] bool is_possible(const diffusing_load& load) noexcept;
[[nodiscard]] bool is_possible(const rank_loads& loads) noexcept;

/// The elements that a rank has while ranks exchange them in rounds. All workers and devices have
/// the speed 1. The same calls give the same results.
class diffusing_rank {
 public:
  /// `first_worker`: number of the first of the rank's workers among all ranks. Device loads are
  /// left out on a worker without a device. @throws usage_error for an impossible load
  diffusing_rank(std::uint32_t first_worker, std::vector<worker_place> workers,
                 std::vector<diffusing_element> elements);

  /// The loads of the elements where they wait.
  [[nodiscard]] rank_loads loads_before() const;
  [[nodiscard]] std::size_t device_count() const noexcept { return m_devices.size(); }
  /// Sets the shares of the devices, in the order of `loads_before`. Before, the rank has them
  /// alone.
  void set_shares(std::vector<device_share> shares) { m_shares = std::move(shares); }

  [[nodiscard]] diffusing_load load() const;
  /// Removes the elements that are to go to a partner, and returns them: first as many elements of
  /// each overfull device as make it fit again, then elements with a total load of about
  /// `factor` times `diffusion::flow`. `mine`: the load at the beginning of the round. `factor`: 2
  /// if the partner is the only one in this round, otherwise 1. The elements need at most the free
  /// memory of an only partner, and half of the free memory of one of two partners.
  [[nodiscard]] std::vector<diffusing_element> give(const diffusing_load& mine,
                                                    const diffusing_load& partner, double factor);
  void take(std::span<const diffusing_element> elements);

  /// Where an element goes.
  struct destination {
    std::uint32_t from = 0;  // worker
    std::uint32_t slot = 0;
    std::uint32_t to = 0;  // worker
    reason why = reason::host_load;
  };
  /// The end of the rounds. `arrived` has the elements of other ranks, `moved` those of this rank
  /// that change their worker within the rank.
  struct result {
    std::vector<destination> arrived, moved;
    std::uint32_t left = 0;  // elements of this rank that are on other ranks
    rank_loads loads;
    double cost_seconds = 0;  // of the migrations: the largest sum of a worker
    std::uint64_t bytes = 0;  // that arrive, and that change their device within the rank
  };
  /// Assigns the elements to the workers of the rank: arrived ones where they make the least level.
  /// Then brings the loads within the tolerance of `ideal`, in seconds of a step, as the balancer
  /// `refine` does.
  [[nodiscard]] result place(const cost_model& costs, double ideal, double tolerance) const;

 private:
  [[nodiscard]] bool is_own(const diffusing_element& e) const noexcept {
    return e.worker - m_first_worker < m_workers.size();
  }
  /// Elements of other ranks, which have no worker yet, are on the device with most memory.
  [[nodiscard]] snapshot as_snapshot() const;
  /// Returns the worker of each element, a position among those of the rank.
  [[nodiscard]] std::vector<std::uint32_t> assign(const snapshot& s, double ideal,
                                                  double tolerance) const;
  /// Returns the elements of this rank that are on other ranks.
  [[nodiscard]] std::vector<diffusing_element> absent() const;
  [[nodiscard]] rank_loads loads_of(const snapshot& s,
                                    std::span<const std::uint32_t> worker_of) const;
  [[nodiscard]] std::uint32_t device_of(std::uint32_t worker) const noexcept;
  /// Bytes of the rank's own elements that it still has, by device.
  [[nodiscard]] std::vector<std::uint64_t> own_bytes() const;
  void give_for_memory(std::vector<bool>& is_given, std::uint64_t& room) const;

  std::uint32_t m_first_worker;
  std::vector<worker_place> m_workers;
  std::vector<worker_place> m_devices;        // each once, in the order of the workers
  std::vector<device_share> m_shares;         // of these devices
  std::vector<diffusing_element> m_elements;  // that the rank has at the moment
  std::vector<diffusing_element> m_own;       // that wait on the rank
};

}  // namespace starling::balance
