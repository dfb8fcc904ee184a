// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include <starling/core/options.hpp>

#include "driver/balance.hpp"
#include "hydro/scheme.hpp"
#include "mesh/adapt.hpp"
#include "mesh/mesh.hpp"
#include "placement/simulation.hpp"

namespace stars {

/// Where the state is stored between kernels.
enum class residency {
  staged,   ///< on the host: each sub-grid and stage copies inputs, runs 5 kernels, copies fluxes
            ///< back
  resident  ///< on the device for the whole run; only the time step is copied back
};
constexpr const char* name_of(residency place) {
  return place == residency::staged ? "staged" : "resident";
}

/// The format of the plots.
enum class plot_format {
  amrex,  ///< a folder, io/plotfile.hpp
  vtkhdf  ///< a file, io/vtkhdf.hpp
};
constexpr const char* name_of(plot_format format) {
  return format == plot_format::amrex ? "amrex" : "vtkhdf";
}

/// All settings of a run, from the command line and a TOML or INI file.
struct settings {
  std::string problem = "blast";
  int sub_grid = edge;  ///< cells along an edge of a sub-grid
  int level = 3;
  std::optional<int> min_level;  ///< of the coarsest leaves; default: `level`, a uniform mesh
  long regrid_every = 0;         ///< steps; 0: by the Courant number
  double xscale = 1.0;
  std::optional<double> gamma;  ///< default: the problem's own
  double energy = 1.0;          ///< of the blast
  double radius = 0.0;          ///< of the heated ball or the vortex; 0: the problem's own
  double amplitude = 0.0;       ///< of the perturbation; 0: the problem's own
  double polar = 90.0;          ///< of the tube's normal or the flow, degrees from the z axis
  double azimuth = 0.0;         ///< of its projection, degrees from the x axis
  int axis = 0;                 ///< along which the linear wave travels
  double speed = 1.0;           ///< of a uniform flow
  double strength = 5.0;        ///< of the vortex
  double width = 0.0;           ///< of layers over the domain's edge; 0: the problem's own
  std::optional<boundary_kind> boundary;
  std::string refine;             ///< refinement rules; empty: the problem's own
  std::optional<double> gravity;  ///< towards lower z; default: the problem's own
  scheme numerics;

  long steps = 15;         ///< last step; 0: no limit, the default if a stop time is given
  double stop_time = 0.0;  ///< 0: no limit

  residency place = residency::staged;
  balance_options balance;    ///< of parts on several ranks
  int aggregate = 0;          ///< most sub-grids in one launch; 0: depends on the device
  staged_options staged;      ///< its `aggregate` is set from the one above
  resident_options resident;  ///< likewise
  std::string output = "stars_out";
  long plot_every = 0;     ///< 0: first and last state only
  long restart_every = 0;  ///< 0: at the end only
  std::string restart_from;
  bool write_restart = true;
  bool write_plots = true;
  plot_format plots = plot_format::amrex;
  std::string json;
  bool progress = true;

  starling::runtime_options runtime;
  std::set<std::string> given;  ///< names of the options found on the command line or in the file
};

/// Returns the levels that leaves may have.
[[nodiscard]] level_limits limits_of(const settings& s);
/// Returns whether the mesh follows the flow.
[[nodiscard]] bool is_adaptive(const settings& s);

/// Reads flags and configuration file. Prints the help and exits on --help.
/// @throws starling::option_error that names the option, its value and the accepted values
[[nodiscard]] settings read_settings(int argc, char** argv);

/// Chooses the settings of a staged run that the user left open: how many sub-grids share a launch,
/// and the number of streams. On a GPU it takes the best values on an H200 (benchmarks/results/).
/// If the processor itself is the device, nothing is aggregated, since launches are cheaper than
/// waiting for each other.
void suit_devices(settings& s, starling::runtime& rt);

/// Returns, for each given option without effect in this run, a line with the reason.
[[nodiscard]] std::vector<std::string> without_effect(const settings& s, int ranks);

}  // namespace stars
