// SPDX-License-Identifier: Apache-2.0
#include <starling/objects/balance/schedule.hpp>

#include <algorithm>
#include <cmath>

namespace starling::balance {

void schedule::record_step(double largest_seconds, double mean_seconds) noexcept {
  const double excess = std::max(0.0, largest_seconds - mean_seconds);
  if (m_steps == 0 && m_cost >= 0) judge_prediction(excess);
  // A smaller excess shows that less remains than was predicted.
  m_remaining = std::min(m_remaining, excess);
  m_last = excess;
  const double x = double(m_steps);
  m_sum_x += x;
  m_sum_y += excess;
  m_sum_xx += x * x;
  m_sum_xy += x * excess;
  ++m_steps;
  m_longest = std::max(m_longest, largest_seconds);
  m_loss += excess - m_remaining;
}

void schedule::record_balancing(double cost_seconds, double predicted_excess_seconds) noexcept {
  schedule next(m_interval);
  next.m_cost = std::max(0.0, cost_seconds);
  next.m_remaining = std::max(0.0, predicted_excess_seconds);
  next.m_before = m_last;
  next.m_wait = m_wait;
  *this = next;
}

void schedule::judge_prediction(double excess) noexcept {
  const double predicted = m_before - m_remaining;
  if (predicted <= 0) return;
  const bool is_right = m_before - excess >= predicted / 2;
  m_wait = is_right ? 1 : std::min(2 * m_wait, longest_wait);
}

double schedule::allowed_loss() const noexcept { return m_cost >= 0 ? m_cost * m_wait : m_longest; }

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
  const double now = (m_sum_y - growth * m_sum_x) / n + growth * n - m_remaining;
  const double missing = allowed_loss() - m_loss;
  // The loss of t further steps, now · t + growth · t² / 2, reaches what is missing.
  const double excess = std::max(0.0, now);
  if (growth <= 1e-12 * (excess + m_longest))
    return excess > 1e-12 * m_longest ? std::optional(missing / excess) : std::nullopt;
  return (std::sqrt(excess * excess + 2 * growth * missing) - excess) / growth;
}

}  // namespace starling::balance
