// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <starling/core.hpp>

#include "block.hpp"
#include "settings.hpp"

namespace jacobi3d {

/// What a run measured and found.
struct run_result : apps::measured_run {
  decomposition cut;
  bool peer_access = false;  ///< of the first rank: every device reaches the memory of every other
};

/// Cuts the grid into `odf` blocks for each worker of all ranks and runs them to the end. `s` and
/// `rt` outlive the task. @throws starling::option_error if the grid cannot be cut so
/// @throws starling::error, std::exception whatever a block throws
[[nodiscard]] starling::task<run_result> simulate(const settings& s, starling::runtime& rt);

}  // namespace jacobi3d
