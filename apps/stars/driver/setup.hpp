// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "driver/settings.hpp"
#include "io/restart.hpp"
#include "mesh/mesh.hpp"
#include "problems/problem.hpp"

namespace stars {

/// Returns the problem that the settings choose.
/// @throws starling::option_error that names the option of an impossible value
[[nodiscard]] std::unique_ptr<problem> make_problem(const settings& s);

/// The state at the beginning of a run, without its data.
struct beginning {
  snapshot header;
  int rounds = 0;  ///< how often the tests of the initial state may still refine the tree
};

/// Returns the beginning of a run on so many ranks: of the problem, or from the restart file. Then
/// updates `s` to the values of the run: values from the restart file, and defaults resolved. On
/// one rank the tree is complete. On several ranks its refinement ends as soon as each rank can
/// have a leaf, so that no rank needs more than a few leaves for each rank.
/// @throws starling::option_error that names the option: an impossible value; a given value or a
/// scheme that differs from the file's; an end before the file's step
[[nodiscard]] beginning begin_run(settings& s, int ranks);

/// Returns the data [leaf][15][8][8][8] of the leaves `first` … `first + count - 1` at the
/// beginning of a run: of the problem, or from the restart file. `s` as after `begin_run`. Thread
/// safe.
/// @throws starling::option_error, output_error
[[nodiscard]] std::vector<double> first_data(const settings& s, const mesh& grid, int first,
                                             int count);

/// Returns the parameters that a restart file records beside the state, by option name: the scheme,
/// which must be equal in a continued run, and the parameters of the problem.
[[nodiscard]] std::map<std::string, parameter> restart_parameters(const settings& s);

}  // namespace stars
