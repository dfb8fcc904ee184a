// SPDX-License-Identifier: Apache-2.0
#include <starling/objects/balance/cost_meter.hpp>

#include <algorithm>
#include <utility>

namespace starling::balance {

void cost_meter::record_steps(double seconds, std::uint64_t steps,
                              double assumed_seconds) noexcept {
  const period now{seconds / double(steps), double(steps), assumed_seconds};
  const period before = std::exchange(m_last, now);
  if (before.assumed_seconds <= 0 || now.assumed_seconds > 0) return;
  // Not limited: errors of both signs compensate each other.
  m_measured = kept * m_measured + (before.step_seconds - now.step_seconds) * before.steps;
  m_assumed = kept * m_assumed + before.assumed_seconds;
}

double cost_meter::share() const noexcept {
  return m_assumed > 0 ? std::clamp(m_measured / m_assumed, least_share, 1.0) : 1;
}

}  // namespace starling::balance
