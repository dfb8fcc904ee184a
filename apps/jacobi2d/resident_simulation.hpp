// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <starling/resident.hpp>

#include "simulation.hpp"

namespace jacobi2d {

/// Returns the place, schedulers and threads of a run with resident strips; settings that the user
/// did not choose get defaults. Memory sizes are not set. @throws starling::option_error if options
/// do not fit together
[[nodiscard]] starling::resident::options resident_options(const settings& s,
                                                           starling::runtime& rt);

/// Runs the strips on the devices of this process without the host, `odf` strips for each
/// scheduler.
/// @throws starling::option_error if options do not fit together, or there are fewer rows than
/// strips
/// @throws starling::error any error of the resident program
[[nodiscard]] starling::task<run_result> simulate_resident(const settings& s,
                                                           starling::runtime& rt);

}  // namespace jacobi2d
