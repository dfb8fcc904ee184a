// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

#include "output/restart.hpp"
#include "physics/mesh.hpp"
#include "settings.hpp"

namespace sedov {

/// The state to start from: the problem's, or the one in the restart file.
/// @throws starling::option_error when a restart file was made with another scheme
[[nodiscard]] snapshot first_state(const settings& s);

/// What a restart must agree on to go on bit by bit.
[[nodiscard]] std::map<std::string, parameter> restart_parameters(const settings& s);

}  // namespace sedov
