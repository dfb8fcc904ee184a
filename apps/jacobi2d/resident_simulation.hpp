// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <starling/resident.hpp>

#include "simulation.hpp"

namespace jacobi2d {

/// Where and by how many schedulers resident strips are run; what is not chosen, completed. Without
/// the sizes of memory. @throws starling::option_error if options do not fit together
[[nodiscard]] starling::resident::options resident_options(const settings& s,
                                                           starling::runtime& rt);

/// The same run by strips that live on the devices of this process, `odf` for each scheduler.
/// @throws starling::option_error if options do not fit together, or there are fewer rows than
/// strips
/// @throws starling::error whatever the resident program throws
[[nodiscard]] starling::task<run_result> simulate_resident(const settings& s,
                                                           starling::runtime& rt);

}  // namespace jacobi2d
