// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

namespace starling::balance {

/// Decides when to balance, from the times of past steps alone. Not thread-safe; all ranks that
/// record the same times get the same decisions.
///
/// With a fixed interval, balancing is due every k steps. Otherwise it is due when imbalance has
/// cost as much time since the last balancing as a balancing costs. The *excess* of a step is its
/// time beyond the mean load, and its *loss* is the excess less the one that the last balancing has
/// predicted. If the excess grows by g seconds in each step and a balancing costs C seconds, the
/// loss reaches C after sqrt(2 C / g) steps, which is the interval with the least time for both
/// together.
///
/// A balancing that has achieved less than half of what it predicted is repeated, too, but only
/// after twice the loss, four times the loss and so on: loads that change from step to step cannot
/// be predicted.
class schedule {
 public:
  /// Balancing every `interval` steps; 0: decided by the loss.
  explicit schedule(std::uint64_t interval = 0) noexcept : m_interval(interval) {}

  /// Records a step: the largest and the mean load of a worker or device, in seconds.
  void record_step(double largest_seconds, double mean_seconds) noexcept;

  /// Records a balancing: its cost (the balancer, and the migrations if any), and the excess that
  /// it predicts for the next step.
  void record_balancing(double cost_seconds, double predicted_excess_seconds) noexcept;

  /// Records that the balancer found migrations which do not pay yet, with their cost: balancing is
  /// due when the loss has reached it, but not before the loss has doubled.
  void postpone(double cost_seconds) noexcept { m_cost = std::max(cost_seconds, 2 * m_loss); }

  /// Returns whether balancing is due before the next step. Before the first balancing its cost is
  /// taken as that of one step.
  [[nodiscard]] bool is_due() const noexcept;

  /// Predicts the number of steps from now until balancing is due: 0 if it is due, nothing if the
  /// excess does not grow. A line through the excesses since the last balancing gives the growth.
  [[nodiscard]] std::optional<double> steps_until_due() const noexcept;

  /// Loss since the last balancing, in seconds.
  [[nodiscard]] double loss_seconds() const noexcept { return m_loss; }
  /// Number of steps since the last balancing.
  [[nodiscard]] std::uint64_t steps() const noexcept { return m_steps; }

 private:
  static constexpr double longest_wait = 64;

  void judge_prediction(double excess) noexcept;
  /// Loss from which balancing is due.
  [[nodiscard]] double allowed_loss() const noexcept;

  std::uint64_t m_interval;
  std::uint64_t m_steps = 0;  // since the last balancing
  double m_cost = -1;         // of the last balancing; negative: none yet
  double m_longest = 0;       // step since the last balancing
  double m_remaining = 0;     // excess that does not count
  double m_last = 0;          // excess of the last step
  double m_before = 0;        // excess of the last step before the last balancing
  double m_wait = 1;          // how many times its cost the next balancing waits for
  double m_loss = 0;
  // Sums for the line through the excesses: step number, excess, their products.
  double m_sum_x = 0, m_sum_y = 0, m_sum_xx = 0, m_sum_xy = 0;
};

}  // namespace starling::balance
