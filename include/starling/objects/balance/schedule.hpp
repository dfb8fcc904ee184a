// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

namespace starling::balance {

/// Decides when to balance, from the times of past steps alone. Not thread-safe; all ranks that
/// record the same times get the same decisions.
///
/// With a fixed interval, balancing is due every k steps. Otherwise it is due when imbalance has
/// cost as much time since the last balancing as a balancing costs. The *excess* of a step is its
/// time beyond the ideal one. Its *loss* is the excess less the one that the last balancing has
/// predicted; an excess within the tolerance is no loss. If the excess grows by g seconds in each
/// step and a balancing costs C seconds, the loss reaches C after sqrt(2 C / g) steps, which is the
/// interval with the least time for both together.
///
/// A balancing that has achieved less than half of what it predicted is repeated, too, but the loss
/// from which it is due doubles each time, up to 64 times the cost: loads that change from step to
/// step cannot be predicted.
class schedule {
 public:
  /// Balancing every `interval` steps; 0: decided by the loss. `tolerance`: share of the ideal time
  /// by which a step may exceed it without loss.
  explicit schedule(std::uint64_t interval = 0, double tolerance = 0) noexcept
      : m_interval(interval), m_tolerance(tolerance) {}

  /// Records a step: its time, and the shortest time that any assignment could have.
  void record_step(double step_seconds, double ideal_seconds) noexcept;

  /// Records a balancing: its cost (the balancer, and the migrations if any), and the excess that
  /// it predicts for the next step.
  void record_balancing(double cost_seconds, double predicted_excess_seconds) noexcept;

  /// Records that the balancer has found migrations, but that they cost more than they gain.
  /// Balancing is due again when the loss reaches `cost_seconds`, or twice the present loss if that
  /// is more.
  void postpone(double cost_seconds) noexcept;

  /// Returns whether balancing is due before the next step. Before the first balancing its cost is
  /// taken as that of one step.
  [[nodiscard]] bool is_due() const noexcept;

  /// Predicts the number of steps from now until balancing is due: 0 if it is due, nothing if there
  /// is no loss. A line through the losses since the last balancing gives their growth.
  [[nodiscard]] std::optional<double> steps_until_due() const noexcept;

  /// Loss since the last balancing, in seconds.
  [[nodiscard]] double loss_seconds() const noexcept { return m_loss; }
  /// Returns the number of steps as uneven as the last one that have this loss; 0 if that had none.
  [[nodiscard]] double uneven_steps() const noexcept {
    return m_last_loss > 0 ? m_loss / m_last_loss : 0;
  }

 private:
  static constexpr double longest_wait = 64;

  void judge_prediction() noexcept;
  /// Loss from which balancing is due.
  [[nodiscard]] double allowed_loss() const noexcept {
    return m_allowed >= 0 ? m_allowed : m_longest;
  }

  std::uint64_t m_interval;
  double m_tolerance;
  std::uint64_t m_steps = 0;  // since the last balancing
  double m_longest = 0;       // step since the last balancing
  double m_cost = -1;         // of the last balancing; negative: none yet
  double m_allowed = -1;      // allowed_loss(); negative: not known yet
  double m_wait = 1;          // factor of the cost from which the next balancing is due
  double m_remaining = 0;     // excess that the last balancing has predicted, or less
  double m_loss = 0;
  double m_last_loss = 0;  // of the last step
  double m_last_ideal = 0;
  double m_last_share = 0;  // excess of the last step, as a share of its ideal time
  // Largest share with which the first step after a balancing shows a right prediction; negative:
  // there is nothing to judge.
  double m_right_share = -1;
  // Sums for the line through the losses: number of the step, its loss, their products.
  double m_sum_x = 0, m_sum_y = 0, m_sum_xx = 0, m_sum_xy = 0;
};

}  // namespace starling::balance
