// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

#include "output/restart.hpp"
#include "physics/mesh.hpp"
#include "settings.hpp"

namespace sedov {

/// The state to start from: the problem's, or the one in the restart file. Afterwards `s` says what
/// the run really is: values from the file where it goes on, defaults resolved.
/// @throws starling::option_error naming the option: an impossible value; one that was given and
/// differs from the file's; a scheme that differs; an end before the file's step
[[nodiscard]] snapshot first_state(settings& s);

/// What a restart file records beside the state, by the names of the options: the scheme, on which
/// a run that goes on must agree, and what the problem was made with.
[[nodiscard]] std::map<std::string, parameter> restart_parameters(const settings& s);

}  // namespace sedov
