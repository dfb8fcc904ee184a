// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace starling::balance {

/// Measures what migrations cost a program: by how much the steps between two decisions are longer
/// if migrations were made before them than the steps after these. Not thread-safe.
///
/// What else changes the time of these steps (migrations of other arrays, files, the operating
/// system) counts, too, so the measurement can only lower what a model assumes.
class cost_meter {
 public:
  /// Records the time of `steps` steps, before which migrations were begun. `assumed_seconds`: what
  /// these cost by a model; 0: there were none.
  void record_steps(double seconds, std::uint64_t steps, double assumed_seconds) noexcept;

  /// Returns the measured share of what the model assumed, between 0.1 and 1; 1 until something was
  /// measured. Of several measurements the last ones count most.
  [[nodiscard]] double share() const noexcept;

 private:
  static constexpr double least_share = 0.1;
  static constexpr double kept = 0.75;  // weight of earlier measurements beside the next one

  struct period {
    double step_seconds = 0, steps = 0, assumed_seconds = 0;
  };
  period m_last;
  double m_measured = 0, m_assumed = 0;
};

}  // namespace starling::balance
