// SPDX-License-Identifier: Apache-2.0
#include "settings.hpp"

#include <cstdio>
#include <cstdlib>
#include <map>
#include <vector>

#include <CLI/CLI.hpp>

#include <starling/core/error.hpp>

namespace sedov {
namespace {

const std::map<std::string, boundary_kind> boundaries = {{"outflow", boundary_kind::outflow},
                                                         {"reflecting", boundary_kind::reflecting},
                                                         {"periodic", boundary_kind::periodic}};
const std::map<std::string, residency> residencies = {{"staged", residency::staged},
                                                      {"resident", residency::resident}};
const std::map<std::string, reconstruction_kind> reconstructions = {
    {"ppm", reconstruction_kind::ppm}, {"minmod", reconstruction_kind::minmod}};
const std::map<std::string, quadrature_kind> quadratures = {
    {"nine-point", quadrature_kind::nine_point}, {"centre", quadrature_kind::centre}};

class command_line {
 public:
  explicit command_line(settings& s) : m_settings(s) {
    m_app.set_config("--config", "", "read options from a TOML or INI file; flags win")
        ->check(CLI::ExistingFile);
    m_app.allow_config_extras(CLI::config_extras_mode::error);
    add_problem();
    add_scheme();
    add_run();
    add_runtime();
  }

  void parse(int argc, char** argv) {
    try {
      m_app.parse(argc, argv);
    } catch (const CLI::CallForHelp& e) {
      std::exit(m_app.exit(e));
    } catch (const CLI::ParseError& e) {
      throw starling::option_error(std::string(e.what()) + " (see --help)");
    }
    finish();
  }

 private:
  void add_problem() {
    settings& s = m_settings;
    constexpr const char* group = "Problem";
    m_app.add_option("--problem", s.problem, "blast, sod or linear-wave")
        ->check(CLI::IsMember({"blast", "sod", "linear-wave"}))
        ->capture_default_str()
        ->group(group);
    m_app.add_option("--level", s.level, "octree levels: 8·2^level cells along an edge")
        ->check(CLI::Range(0, 7))
        ->capture_default_str()
        ->group(group);
    m_app.add_option("--xscale", s.xscale, "half the edge of the domain")
        ->check(CLI::PositiveNumber)
        ->capture_default_str()
        ->group(group);
    m_app.add_option("--gamma", m_gamma, "adiabatic index [blast, sod 7/5; linear-wave 5/3]")
        ->check(CLI::Range(1.0 + 1e-6, 3.0))
        ->group(group);
    m_app.add_option("--energy", s.energy, "energy of the blast")
        ->check(CLI::PositiveNumber)
        ->capture_default_str()
        ->group(group);
    m_app.add_option("--radius", s.radius, "radius of the heated ball; 0: 3.5 cells")
        ->check(CLI::NonNegativeNumber)
        ->capture_default_str()
        ->group(group);
    m_app.add_option("--amplitude", s.amplitude, "relative amplitude of the linear wave")
        ->check(CLI::PositiveNumber)
        ->capture_default_str()
        ->group(group);
    m_app.add_option("--polar", s.polar, "shock tube: normal's angle from the z axis, degrees")
        ->capture_default_str()
        ->group(group);
    m_app.add_option("--azimuth", s.azimuth, "shock tube: its angle from the x axis, degrees")
        ->capture_default_str()
        ->group(group);
    m_app.add_option("--axis", s.axis, "linear wave: direction, 0 to 2")
        ->check(CLI::Range(0, 2))
        ->capture_default_str()
        ->group(group);
    m_app.add_option("--boundary", m_boundary, "outflow, reflecting, periodic [the problem's own]")
        ->check(CLI::IsMember(boundaries))
        ->group(group);
  }

  void add_scheme() {
    scheme& n = m_settings.numerics;
    constexpr const char* group = "Scheme";
    m_app.add_option("--reconstruction", m_reconstruction, "ppm or minmod")
        ->check(CLI::IsMember(reconstructions))
        ->capture_default_str()
        ->group(group);
    m_app.add_option("--quadrature", m_quadrature, "points on a face: nine-point or centre")
        ->check(CLI::IsMember(quadratures))
        ->capture_default_str()
        ->group(group);
    m_app.add_option("--cfl", n.cfl, "Courant number")
        ->check(CLI::Range(1e-3, 1.0))
        ->capture_default_str()
        ->group(group);
    m_app.add_option("--omega", n.omega, "angular velocity of the grid about z")
        ->capture_default_str()
        ->group(group);
    m_app.add_flag("--floors", n.floors.enabled, "keep densities and energies above floors")
        ->group(group);
    m_app.add_option("--rho-floor", n.floors.rho, "density floor")
        ->check(CLI::PositiveNumber)
        ->capture_default_str()
        ->group(group);
    // Deliberate errors for the verification's own tests: hidden from the help.
    m_app.add_option("--mutate-direction", n.error.dropped_direction)->group("");
    m_app.add_flag("--mutate-edge-terms", n.error.edge_terms_dropped)->group("");
    m_app.add_option("--mutate-gamma", n.error.gamma)->group("");
  }

  void add_run() {
    settings& s = m_settings;
    constexpr const char* group = "Run";
    m_app.add_option("--steps", s.steps, "stop after this step; 0: no limit")
        ->check(CLI::NonNegativeNumber)
        ->capture_default_str()
        ->group(group);
    m_app.add_option("--stop-time", s.stop_time, "stop at this time; 0: no limit")
        ->check(CLI::NonNegativeNumber)
        ->capture_default_str()
        ->group(group);
    m_app.add_option("--residency", m_place, "staged or resident (see the README)")
        ->check(CLI::IsMember(residencies))
        ->capture_default_str()
        ->group(group);
    m_app.add_option("--batch", s.batch, "resident: sub-grids in one launch; 0: by device")
        ->check(CLI::NonNegativeNumber)
        ->capture_default_str()
        ->group(group);
    m_app.add_option("-o,--output", s.output, "folder for everything written")
        ->capture_default_str()
        ->group(group);
    m_app.add_option("--plot-every", s.plot_every, "steps between plotfiles; 0: first and last")
        ->check(CLI::NonNegativeNumber)
        ->capture_default_str()
        ->group(group);
    m_app.add_option("--restart-every", s.restart_every, "steps between restart files; 0: last")
        ->check(CLI::NonNegativeNumber)
        ->capture_default_str()
        ->group(group);
    m_app.add_option("--restart", s.restart_from, "go on from this restart file")
        ->check(CLI::ExistingFile)
        ->group(group);
    m_app.add_flag("!--no-restart-file", s.write_restart, "write no restart file")->group(group);
    m_app.add_flag("!--no-plots", s.write_plots, "write no plotfiles")->group(group);
    m_app.add_flag("!--no-progress", s.progress, "no progress bar")->group(group);
    m_app.add_option("--json", s.json, "write metrics and checks to this file")->group(group);
  }

  void add_runtime() {
    starling::runtime_options& r = m_settings.runtime;
    constexpr const char* group = "Runtime (short forms of --starling-…)";
    m_app.add_option("--workers", r.workers, "worker threads; 0: one for each core")
        ->capture_default_str()
        ->group(group);
    for (const char* name : {"backend", "completion", "streams", "devices"})
      m_app.add_option(std::string("--") + name, m_extra[name], "see --starling-help")
          ->group(group);
    m_app.add_option("--trace", r.trace_file, "timeline for ui.perfetto.dev")->group(group);
  }

  void finish() {
    settings& s = m_settings;
    s.place = residencies.at(m_place);
    s.numerics.reconstruction = reconstructions.at(m_reconstruction);
    s.numerics.quadrature = quadratures.at(m_quadrature);
    if (!m_boundary.empty()) s.boundary = boundaries.at(m_boundary);
    if (m_gamma > 0) s.gamma = m_gamma;
    for (const auto& [name, value] : m_extra)
      if (!value.empty()) s.runtime.extra[name] = value;
    if (s.steps == 0 && s.stop_time == 0)
      throw starling::option_error("--steps 0 and --stop-time 0: the run would never end");
  }

  settings& m_settings;
  CLI::App m_app{
      "Sedov–Taylor blast wave, Sod's shock tube and a linear wave: Octo-Tiger's scheme "
      "on a uniform octree, run as asynchronous tasks."};
  std::string m_place = "staged";
  std::string m_reconstruction = "ppm";
  std::string m_quadrature = "nine-point";
  std::string m_boundary;
  double m_gamma = 0.0;
  std::map<std::string, std::string> m_extra;
};

}  // namespace

settings read_settings(int argc, char** argv) {
  settings s;
  s.runtime = starling::runtime_options::parse(argc, argv);
  command_line(s).parse(argc, argv);
  return s;
}

}  // namespace sedov
