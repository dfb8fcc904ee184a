// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "options.hpp"

namespace starling::launch {

/// Runs a job, and again after a resize, or while restarts are left after the loss of a rank.
/// Returns the exit code. @throws bootstrap_error
[[nodiscard]] int run_job(const options& chosen);

}  // namespace starling::launch
