// SPDX-License-Identifier: Apache-2.0
#include <starling/objects/balance/schedule.hpp>

#include <algorithm>
#include <cmath>

namespace starling::balance {

void schedule::record_step(double largest_seconds, double mean_seconds) noexcept {
  const double excess = std::max(0.0, largest_seconds - mean_seconds);
  // Before the first balancing all excess counts; after one, the excess that it could not remove
  // does not.
  if (m_steps == 0 && m_cost >= 0) m_remaining = excess;
  // A smaller excess shows that less remains than the first step had.
  m_remaining = std::min(m_remaining, excess);
  const double x = double(m_steps);
  m_sum_x += x;
  m_sum_y += excess;
  m_sum_xx += x * x;
  m_sum_xy += x * excess;
  ++m_steps;
  m_longest = std::max(m_longest, largest_seconds);
  m_loss += excess - m_remaining;
}

void schedule::record_balancing(double cost_seconds) noexcept {
  *this = schedule(m_interval);
  m_cost = std::max(0.0, cost_seconds);
}

double schedule::cost() const noexcept { return m_cost >= 0 ? m_cost : m_longest; }

bool schedule::is_due() const noexcept {
  if (m_interval > 0) return m_steps >= m_interval;
  return m_steps > 0 && m_loss > 0 && m_loss >= cost();
}

std::optional<double> schedule::steps_until_due() const noexcept {
  if (is_due()) return 0;
  if (m_interval > 0) return double(m_interval - m_steps);
  if (m_steps < 2) return std::nullopt;
  const double n = double(m_steps);
  const double growth = (n * m_sum_xy - m_sum_x * m_sum_y) / (n * m_sum_xx - m_sum_x * m_sum_x);
  const double now = (m_sum_y - growth * m_sum_x) / n + growth * n - m_remaining;
  const double missing = cost() - m_loss;
  // The loss of t further steps, now · t + growth · t² / 2, reaches what is missing.
  const double excess = std::max(0.0, now);
  if (growth <= 1e-12 * (excess + m_longest))
    return excess > 1e-12 * m_longest ? std::optional(missing / excess) : std::nullopt;
  return (std::sqrt(excess * excess + 2 * growth * missing) - excess) / growth;
}

}  // namespace starling::balance
