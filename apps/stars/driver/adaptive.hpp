// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <starling/core.hpp>

#include "driver/balance.hpp"
#include "driver/domain_sums.hpp"
#include "driver/settings.hpp"
#include "driver/setup.hpp"
#include "mesh/adapt.hpp"
#include "placement/simulation.hpp"
#include "problems/refinement_rule.hpp"

namespace stars {

/// A request for several steps.
struct step_request {
  long most;       ///< number of steps, at least one
  double time;     ///< of the present state
  double stop;     ///< the steps end exactly at this time if they get there; infinity: no limit
  bool is_waited;  ///< `finish` is called after the last step, unless that has length 0
};
/// The steps that were done. None follows after one of length 0.
struct step_progress {
  long steps = 0;
  double time = 0.0;  ///< of the new state
  double dt = 0.0;    ///< of the last step
};
[[nodiscard]] starling::task<step_progress> do_steps(simulation& at, step_request wanted);

/// A simulation of the whole domain, whose mesh can follow the flow. Each rank holds its own leaves
/// only; no function collects the state of the domain.
///
/// The functions that read the state are called after `finish`, and need memory for a copy of a
/// rank's own leaves until the next step. If one of them throws, the simulation can be used
/// further.
class adaptive_simulation : public simulation {
 public:
  /// Does several steps, without a call to all ranks for each of them.
  /// @throws as `step` and `finish`
  virtual starling::task<step_progress> advance(step_request wanted) {
    return do_steps(*this, wanted);
  }

  /// Returns the present state without its data.
  virtual starling::task<snapshot> header() = 0;
  /// Return sums over the present state.
  virtual starling::task<domain_sums> sums() = 0;
  virtual starling::task<state_record> record() = 0;

  /// Writes the present state as a plotfile, or as a VTKHDF file if `format` says so. All ranks
  /// write their own leaves. The file appears at `path` after all ranks have written, or not at
  /// all.
  /// @throws std::runtime_error with file, operation, reason and, if it is not the first one, rank
  virtual starling::task<> write_plot(std::filesystem::path path, plot_format format) = 0;
  /// Writes the present state as a restart file, in the same way.
  virtual starling::task<> write_restart(std::filesystem::path path,
                                         std::map<std::string, parameter> scheme) = 0;

  /// Tests all leaves by the rules, and continues on the tree that follows from the tests, if it is
  /// another one. Returns whether it is. Called after `finish`.
  virtual starling::task<bool> regrid(std::vector<refinement_rule> rules, level_limits limits) = 0;

  /// Moves leaves between parts by their measured times, on the present tree. Returns whether any
  /// were moved. Called after `finish`; `regrid` does it, too.
  virtual starling::task<bool> rebalance() { co_return false; }

  /// Returns what the division by measured time has done so far.
  [[nodiscard]] virtual balance_record balanced() const { return {}; }

  /// Returns the present mesh.
  [[nodiscard]] virtual const mesh& grid() const = 0;
};

/// Makes the simulation that the settings choose, of the whole domain on this rank. `header`: the
/// state at the beginning of the run.
/// @throws starling::out_of_memory; as `first_data`
[[nodiscard]] std::unique_ptr<adaptive_simulation> make_on_one_rank(starling::runtime& rt,
                                                                    const snapshot& header,
                                                                    const settings& s);

/// Makes the simulation of a part, or of the whole domain.
[[nodiscard]] std::unique_ptr<part_simulation> make_part(starling::runtime& rt, snapshot own,
                                                         const scheme& numerics, residency place,
                                                         const staged_options& staged,
                                                         const resident_options& resident,
                                                         other_parts* others = nullptr);

}  // namespace stars
