// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <starling/objects/balance/plan.hpp>
#include <starling/objects/balance/snapshot.hpp>

namespace starling::balance {

/// Options of all balancers.
struct balancer_options {
  /// A snapshot whose step time exceeds the ideal by at most this share is balanced.
  double tolerance = 0.02;
  /// Migrations must shorten the step by at least this share of it.
  double minimum_gain = 0.01;
  unsigned rounds = 30;          ///< `diffusion`: largest number of rounds
  std::string inner = "greedy";  ///< `hierarchical`: the balancer of each level
  bool is_hilbert = true;        ///< `curve`: a Hilbert curve; otherwise a Morton curve
};

/// A load balancer: a pure function from measured loads to migrations. The same snapshot gives the
/// same plan. A balancer has no state, so that threads may share it.
///
/// A user's own balancer derives from this class and defines `assign`. The rules that hold for all
/// balancers are applied in `balance`.
class balancer {
 public:
  explicit balancer(balancer_options chosen = {}) : m_options(std::move(chosen)) {}
  balancer(const balancer&) = delete;
  balancer& operator=(const balancer&) = delete;
  virtual ~balancer() = default;

  /// Returns the migrations that `assign` finds, or none if the loads are balanced, if the
  /// assignment is not better by the minimum gain, or if the migrations cost more time than they
  /// gain in `loads.steps` steps. A plan leaves anchored elements in place, and elements that are
  /// bound to their rank on that rank. It never adds bytes to
  /// a device beyond its memory. If devices are overfull, a plan with fewer bytes beyond their
  /// memory is better than any gain of time.
  ///
  /// @throws usage_error for an invalid snapshot, and if `assign` breaks a rule of its contract
  [[nodiscard]] plan balance(const snapshot& loads) const;

  [[nodiscard]] virtual std::string_view name() const noexcept = 0;
  [[nodiscard]] const balancer_options& options() const noexcept { return m_options; }

 protected:
  /// `loads` is valid, with elements in order of their ids. Changes `worker_of`, which has the
  /// current worker of each element, to a better assignment. The result must leave anchored
  /// elements in place, keep elements with device load or memory on workers with a device, and not
  /// exceed the memory of a device by more than before.
  virtual void assign(const snapshot& loads, std::vector<std::uint32_t>& worker_of) const = 0;

  /// Returns whether the assignment is refined within each rank after `assign`, if there are
  /// elements that are bound to their rank: `assign` sees these as anchored.
  [[nodiscard]] virtual bool is_refined_within_ranks() const noexcept { return true; }

  /// Calls `assign` of another balancer, for balancers that are built from others.
  static void assign_by(const balancer& other, const snapshot& loads,
                        std::vector<std::uint32_t>& worker_of) {
    other.assign(loads, worker_of);
  }

 private:
  /// Expects elements in order of their ids.
  [[nodiscard]] plan balance_ordered(const snapshot& loads) const;

  balancer_options m_options;
};

/// Makes a balancer by name:
///
/// - `none`: no migrations;
/// - `greedy`: heaviest elements first, each to the worker and device that are then least loaded;
/// - `refine`: few migrations, from overloaded workers and devices only;
/// - `curve`: contiguous pieces of a space-filling curve through the coordinates;
/// - `bisection`: boxes, by recursive bisection along the longest side;
/// - `communication`: multilevel refinement that keeps elements with many messages on one rank;
/// - `diffusion`: rounds of exchanges between neighbours, without a central rank;
/// - `hierarchical`: first between ranks, then between the workers of each rank;
/// - a name of `register_balancer`.
///
/// @throws option_error for an unknown name, with the known names, and for a wrong option
[[nodiscard]] std::unique_ptr<balancer> make_balancer(std::string_view name,
                                                      const balancer_options& chosen = {});

using balancer_factory = std::function<std::unique_ptr<balancer>(const balancer_options&)>;

/// Registers a user's balancer under a name. Thread-safe.
/// @throws usage_error if the name is taken
void register_balancer(const std::string& name, balancer_factory make);

/// Returns the names of all balancers, those of Starling first. Thread-safe.
[[nodiscard]] std::vector<std::string> balancer_names();

}  // namespace starling::balance
