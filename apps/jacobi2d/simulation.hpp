// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <starling/core.hpp>

#include "common/iterations.hpp"
#include "physics/decomposition.hpp"
#include "settings.hpp"

namespace jacobi2d {

/// Measurements and results of a run.
struct run_result : apps::measured_run {
  decomposition cut;
};

/// Cuts the grid into `strips`, or into `odf` strips for each worker of all ranks, and runs them to
/// the end: from the begin, or from a checkpoint. `s` and `rt` must outlive the task.
/// @throws starling::option_error if there are fewer rows than strips, or the checkpoint is one of
/// another problem
/// @throws starling::checkpoint_error if no checkpoint can be read or written in the folder
/// @throws starling::error, std::exception any exception of a strip
[[nodiscard]] starling::task<run_result> simulate(const settings& s, starling::runtime& rt);

}  // namespace jacobi2d
