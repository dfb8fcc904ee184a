// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <starling/core.hpp>

#include "physics/decomposition.hpp"
#include "settings.hpp"

namespace jacobi2d {

/// What a run measured and found.
struct run_result {
  decomposition cut;
  long iterations = 0;  ///< in all, warm-up included
  long timed_iterations = 0;
  double seconds = 0.0;        ///< of the timed ones
  double last_change = 0.0;    ///< in the last check for convergence
  std::uint64_t captures = 0;  ///< graphs made
  std::uint64_t checksum = 0;  ///< of the grid; the same for every decomposition
  double error = 0.0;          ///< of mode: against the analytic solution
};

/// Cuts the grid into `odf` strips for each worker and runs them to the end.
/// @throws std::invalid_argument if there are fewer rows than strips
/// @throws starling::error, std::exception whatever a strip throws
[[nodiscard]] run_result simulate(const settings& s, starling::runtime& rt);

}  // namespace jacobi2d
