// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include <starling/core.hpp>

#include "block.hpp"
#include "settings.hpp"

namespace jacobi3d {

/// What a run measured and found.
struct run_result {
  decomposition cut;
  long iterations = 0;  ///< in all, warm-up included
  long timed_iterations = 0;
  double seconds = 0.0;        ///< of the timed ones
  double last_change = 0.0;    ///< in the last check for convergence
  std::uint64_t captures = 0;  ///< graphs made
  std::uint64_t checksum = 0;  ///< of the grid; the same for every decomposition
  bool peer_access = false;    ///< every device reaches the memory of every other
  double error = 0.0;          ///< of mode: against the analytic solution
};

/// Cuts the grid into `odf` blocks for each worker and runs them to the end.
/// @throws starling::error, std::exception whatever a block throws
[[nodiscard]] run_result simulate(const settings& s, starling::runtime& rt);

}  // namespace jacobi3d
