// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <string>

#include "driver/settings.hpp"
#include "io/restart.hpp"
#include "mesh/mesh.hpp"
#include "problems/problem.hpp"

namespace stars {

/// Returns the problem that the settings choose.
/// @throws starling::option_error that names the option of an impossible value
[[nodiscard]] std::unique_ptr<problem> make_problem(const settings& s);

/// Returns the initial state: of the problem, or from the restart file. Then updates `s` to the
/// values of the run: values from the restart file, and defaults resolved.
/// @throws starling::option_error that names the option: an impossible value; a given value or a
/// scheme that differs from the file's; an end before the file's step
[[nodiscard]] snapshot first_state(settings& s);

/// Returns the parameters that a restart file records beside the state, by option name: the scheme,
/// which must be equal in a continued run, and the parameters of the problem.
[[nodiscard]] std::map<std::string, parameter> restart_parameters(const settings& s);

}  // namespace stars
