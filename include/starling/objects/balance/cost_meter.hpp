// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace starling::balance {

/// Measures what migrations cost a program: by how much a step with migrations at its beginning is
/// longer than the next one without. Not thread-safe.
class cost_meter {
 public:
  /// Records the time of `steps` steps, before which migrations were begun. `assumed_seconds`: what
  /// these cost by a model; 0: there were none.
  void record_steps(double seconds, std::uint64_t steps, double assumed_seconds) noexcept;

  /// Returns the measured share of what the model assumed: 1 until something was measured, and at
  /// least 0.1, as a single difference of two steps has large errors.
  [[nodiscard]] double share() const noexcept;

 private:
  static constexpr double least_share = 0.1;

  struct period {
    double step_seconds = 0, steps = 0, assumed_seconds = 0;
  };
  period m_last;
  double m_measured = 0, m_assumed = 0;
};

}  // namespace starling::balance
