// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <starling/core.hpp>

#include "block.hpp"
#include "settings.hpp"

namespace jacobi3d {

/// Measurements and results of a run.
struct run_result : apps::measured_run {
  decomposition cut;
  bool peer_access = false;  ///< on rank 0: all devices access each other's memory
};

/// Cuts the grid into `blocks`, or into `odf` blocks for each worker of all ranks, and runs them to
/// the end: from the begin, or from a checkpoint. `s` and `rt` must outlive the task.
/// @throws starling::option_error if the grid cannot be cut into these blocks, or the checkpoint is
/// one of another problem
/// @throws starling::checkpoint_error if no checkpoint can be read or written in the folder
/// @throws starling::error, std::exception any exception of a block
[[nodiscard]] starling::task<run_result> simulate(const settings& s, starling::runtime& rt);

}  // namespace jacobi3d
