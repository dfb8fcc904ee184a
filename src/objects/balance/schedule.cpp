// SPDX-License-Identifier: Apache-2.0
#include <starling/objects/balance/schedule.hpp>

#include <algorithm>
#include <cmath>
#include <utility>

namespace starling::balance {

void schedule::record_step(double step_seconds, double ideal_seconds) noexcept {
  const double excess = std::max(0.0, step_seconds - ideal_seconds);
  m_last_ideal = ideal_seconds;
  m_last_share = ideal_seconds > 0 ? excess / ideal_seconds : 0;
  judge_prediction();
  // A smaller excess shows that less remains than was predicted.
  m_remaining = std::min(m_remaining, excess);
  const double ignored = std::max(m_remaining, m_tolerance * ideal_seconds);
  m_last_loss = std::max(0.0, excess - ignored);
  m_loss += m_last_loss;
  const double x = double(m_steps);
  m_sum_x += x;
  m_sum_y += m_last_loss;
  m_sum_xx += x * x;
  m_sum_xy += x * m_last_loss;
  ++m_steps;
  m_longest = std::max(m_longest, step_seconds);
}

void schedule::record_balancing(double cost_seconds, double predicted_excess_seconds) noexcept {
  schedule next(m_interval, m_tolerance);
  next.m_cost = std::max(0.0, cost_seconds);
  next.m_wait = m_wait;
  next.m_allowed = next.m_cost * next.m_wait;
  next.m_remaining = std::max(0.0, predicted_excess_seconds);
  const double predicted = m_last_ideal > 0 ? next.m_remaining / m_last_ideal : 0;
  if (predicted < m_last_share) next.m_right_share = (predicted + m_last_share) / 2;
  *this = next;
}

void schedule::postpone(double cost_seconds) noexcept {
  m_allowed = std::max(cost_seconds, 2 * m_loss);
  if (m_interval > 0) m_steps = 0;
}

/// Shares are compared, since the total load may have changed with the balancing.
void schedule::judge_prediction() noexcept {
  const double right = std::exchange(m_right_share, -1);
  if (right < 0) return;
  m_wait = m_last_share <= right ? 1 : std::min(2 * m_wait, longest_wait);
  m_allowed = m_cost * m_wait;
}

bool schedule::is_due() const noexcept {
  if (m_interval > 0) return m_steps >= m_interval;
  return m_steps > 0 && m_loss > 0 && m_loss >= allowed_loss();
}

std::optional<double> schedule::steps_until_due() const noexcept {
  if (is_due()) return 0;
  if (m_interval > 0) return double(m_interval - m_steps);
  if (m_steps < 2) return std::nullopt;
  const double n = double(m_steps);
  const double growth = (n * m_sum_xy - m_sum_x * m_sum_y) / (n * m_sum_xx - m_sum_x * m_sum_x);
  const double now = (m_sum_y - growth * m_sum_x) / n + growth * n;
  const double missing = allowed_loss() - m_loss;
  // The loss of t further steps, now · t + growth · t² / 2, reaches what is missing.
  const double excess = std::max(0.0, now);
  if (growth <= 1e-12 * (excess + m_longest))
    return excess > 1e-12 * m_longest ? std::optional(missing / excess) : std::nullopt;
  return (std::sqrt(excess * excess + 2 * growth * missing) - excess) / growth;
}

}  // namespace starling::balance
