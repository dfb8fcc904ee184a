// SPDX-License-Identifier: Apache-2.0
#include "driver/settings.hpp"

#include <cstdio>
#include <cstdlib>
#include <type_traits>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <starling/core/error.hpp>
#include <starling/device.hpp>

#include "common/command_line.hpp"
#include "driver/other_program.hpp"
#include "driver/problem_choice.hpp"

namespace stars {
namespace {

using apps::by_name;

const auto boundaries =
    by_name({boundary_kind::outflow, boundary_kind::reflecting, boundary_kind::periodic});
const auto balances = by_name({balance_kind::none, balance_kind::time});
const auto captures = by_name({capture_kind::none, capture_kind::stage, capture_kind::step});
const auto cuts =
    by_name({kernel_cut::automatic, kernel_cut::plain, kernel_cut::grouped, kernel_cut::fused});
const auto memories =
    by_name({work_memory_kind::kept, work_memory_kind::recycled, work_memory_kind::fresh});
const auto plot_formats = by_name({plot_format::amrex, plot_format::vtkhdf});
const auto residencies = by_name({residency::staged, residency::resident});
const auto reconstructions =
    by_name({reconstruction_kind::ppm, reconstruction_kind::ppmx, reconstruction_kind::minmod});
const auto quadratures = by_name({quadrature_kind::nine_point, quadrature_kind::centre});

constexpr int most_uniform_level = 7;
constexpr long default_steps = 15;
constexpr int gpu_aggregate = 32;
constexpr int gpu_streams = 4;  // of an aggregated run: few, so that work is gathered
constexpr long most_steps = 1'000'000'000;
constexpr double tiny = 1e-30, huge = 1e30;  // their cubes are far from the limits of a double

/// Returns a validator for finite numbers within bounds; `low` itself is accepted if `low_too`.
template <class Number>
CLI::Validator bounds(Number low, Number high, bool low_too) {
  const std::string text = low_too ? fmt::format("from {} to {}", low, high)
                                   : fmt::format("above {}, at most {}", low, high);
  const auto check = [=](std::string& word) -> std::string {
    Number v{};
    const bool good =
        CLI::detail::lexical_cast(word, v) && v <= high && (low_too ? v >= low : v > low);
    if (good) return {};
    constexpr const char* kind = std::is_integral_v<Number> ? "a whole number" : "a number";
    return fmt::format("'{}' is not {} {}", word, kind, text);
  };
  return CLI::Validator(check, text);
}
template <class Number>
CLI::Validator within(Number low, Number high) {
  return bounds(low, high, true);
}
CLI::Validator above(double low, double high) { return bounds(low, high, false); }

class command_line {
 public:
  /// Without `file` the option for the configuration file exists, but the file is not read.
  explicit command_line(settings& s, bool file = true) : m_settings(s) {
    constexpr const char* name = "--config";
    constexpr const char* help = "read options from a TOML or INI file; flags win";
    m_config = file ? m_app.set_config(name, "", help) : m_app.add_option(name, m_unread, help);
    m_config->check(CLI::ExistingFile);
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
    } catch (const CLI::ConfigError& e) {
      throw starling::option_error(fmt::format("--config {}: {}", file_name(), told(e)));
    } catch (const CLI::ParseError& e) {
      const bool in_file = m_config->count() > 0 && parses_without_file(argc, argv);
      throw starling::option_error(fmt::format(
          "{}{} (see --help)", in_file ? fmt::format("--config {}: ", file_name()) : "", e.what()));
    }
    finish();
  }

 private:
  [[nodiscard]] std::string file_name() const { return m_config->as<std::string>(); }

  /// Returns the error text for the user: CLI11's text speaks of INI files before the key.
  static std::string told(const CLI::ConfigError& e) {
    const std::string text = e.what();
    if (text.rfind("INI", 0) != 0) return text;
    return fmt::format("unknown key '{}' (keys are the long flags of --help without dashes)",
                       text.substr(text.rfind(' ') + 1));
  }

  /// Returns whether the command line is valid without the file: then the error is in the file.
  static bool parses_without_file(int argc, char** argv) {
    settings unused;
    command_line again(unused, false);
    try {
      again.m_app.parse(argc, argv);
    } catch (const CLI::ParseError&) {
      return false;
    }
    return true;
  }

  void add_problem() {
    settings& s = m_settings;
    constexpr const char* group = "Problem";
    std::vector<std::string> names;
    for (const problem_choice& c : problem_choices()) names.emplace_back(c.name);
    m_app.add_option("--problem", s.problem, "what is computed")
        ->check(CLI::IsMember(names))
        ->capture_default_str()
        ->group(group);
    m_app.add_option("--sub-grid", s.sub_grid, "cells along an edge of a sub-grid: 8 or 16")
        ->check(CLI::IsMember({8, 16}))
        ->capture_default_str()
        ->group(group);
    m_app
        .add_option("--level", s.level,
                    "octree levels: sub-grid·2^level of the smallest cells along an edge")
        ->check(within(0, max_level))
        ->capture_default_str()
        ->group(group);
    m_app
        .add_option("--min-level", s.min_level,
                    "level of the largest cells: the mesh follows the flow [--level: uniform]")
        ->check(within(0, max_level))
        ->group(group);
    add_number("--regrid-every", s.regrid_every,
               "steps between changes of the mesh; 0: as many as the flow needs for two cells",
               within(0L, most_steps), group);
    add_number("--xscale", s.xscale, "half the edge of the domain", within(tiny, huge), group);
    m_app.add_option("--gamma", s.gamma, "adiabatic index [the problem's own: 7/5 or 5/3]")
        ->check(within(1.0 + 1e-6, 3.0))
        ->group(group);
    m_app.add_option("--boundary", m_boundary, "outflow, reflecting, periodic [the problem's own]")
        ->check(CLI::IsMember(boundaries))
        ->group(group);
    m_app
        .add_option("--gravity", s.gravity,
                    "constant acceleration towards lower z [rayleigh-taylor 0.5, else 0]")
        ->check(within(-1e6, 1e6))
        ->group(group);
    m_app
        .add_option("--refine", s.refine,
                    "where small cells are needed, such as 'difference(rho) > 0.1 or "
                    "relative_difference(egas) > 0.2 and value(rho) > 1e-3' [the problem's own]")
        ->group(group);
    add_problem_options("Options of some problems");
  }

  void add_problem_options(const char* group) {
    settings& s = m_settings;
    add_number("--energy", s.energy, "energy" + of("energy"), within(tiny, huge), group);
    add_number(
        "--radius", s.radius,
        "radius of the heated ball, 0: 3.5 cells; or of the vortex, 0: xscale/5" + of("radius"),
        within(0.0, huge), group);
    m_app
        .add_option("--amplitude", s.amplitude,
                    "of the perturbation [linear-wave 1e-6, else 0.01]" + of("amplitude"))
        ->check(above(0.0, 0.49))
        ->group(group);
    add_number("--polar", s.polar,
               "angle from the z axis to the tube's normal or the flow, degrees" + of("polar"),
               within(-360.0, 360.0), group);
    add_number("--azimuth", s.azimuth, "its angle from the x axis, degrees" + of("azimuth"),
               within(-360.0, 360.0), group);
    add_number("--axis", s.axis, "direction of the wave" + of("axis"), within(0, 2), group);
    add_number("--speed", s.speed, "of the flow" + of("speed"), within(-1e6, 1e6), group);
    add_number("--strength", s.strength, "of the vortex" + of("strength"), within(0.0, 10.0),
               group);
    m_app
        .add_option("--width", s.width,
                    "of a layer over the domain's edge [the problem's own]" + of("width"))
        ->check(above(0.0, 0.25))
        ->group(group);
  }

  /// Returns the names of the problems that have an option, for its help.
  static std::string of(const char* option) {
    std::string names;
    for (const problem_choice& c : problem_choices())
      if (c.has(option)) names += (names.empty() ? " (" : ", ") + std::string(c.name);
    return names + ")";
  }

  void add_scheme() {
    scheme& n = m_settings.numerics;
    constexpr const char* group = "Scheme";
    m_app
        .add_option("--reconstruction", m_reconstruction,
                    "ppm; ppmx: ppm that keeps smooth extrema; minmod: linear")
        ->check(CLI::IsMember(reconstructions))
        ->capture_default_str()
        ->group(group);
    m_app.add_option("--quadrature", m_quadrature, "points on a face: nine-point or centre")
        ->check(CLI::IsMember(quadratures))
        ->capture_default_str()
        ->group(group);
    add_number("--cfl", n.cfl, "Courant number", within(1e-3, 1.0), group);
    add_number("--omega", n.omega, "angular velocity of the grid about z", within(-1e6, 1e6),
               group);
    m_app.add_flag("--floors", n.floors.enabled, "keep densities and energies above floors")
        ->group(group);
    add_number("--rho-floor", n.floors.rho, "density floor", within(tiny, huge), group);
    // Deliberate errors for the tests of the verification; hidden from the help.
    add_number("--mutate-direction", n.error.dropped_direction, "", within(-1, 25), "");
    m_app.add_flag("--mutate-edge-terms", n.error.edge_terms_dropped)->group("");
    add_number("--mutate-gamma", n.error.gamma, "", within(0.0, 3.0), "");
  }

  void add_run() {
    settings& s = m_settings;
    constexpr const char* group = "Run";
    const CLI::Validator count = within(0L, most_steps);
    m_app
        .add_option("--steps", m_steps,
                    "stop after this step; 0: no limit [15; with --stop-time no limit]")
        ->check(count)
        ->group(group);
    add_number("--stop-time", s.stop_time, "stop at this time; 0: no limit", within(0.0, huge),
               group);
    m_app.add_option("--residency", m_place, "staged or resident (see the README)")
        ->check(CLI::IsMember(residencies))
        ->capture_default_str()
        ->group(group);
    m_app
        .add_option("--balance", m_balance,
                    "on several ranks: sub-grids weigh the same (none), or by the measured time "
                    "of the rank that had them (time)")
        ->check(CLI::IsMember(balances))
        ->capture_default_str()
        ->group(group);
    add_number("--aggregate", s.aggregate,
               fmt::format("sub-grids in one launch; 0: resident by device, staged {} on a GPU "
                           "unless --streams is given, else each by itself",
                           gpu_aggregate),
               within(0, 1 << 21), group);
    m_app
        .add_option("--work-memory", m_memory,
                    "staged: arrays of a sub-grid are kept, recycled or fresh in each stage")
        ->check(CLI::IsMember(memories))
        ->capture_default_str()
        ->group(group);
    m_app.add_option("--graph", m_capture, "resident: launch as graphs none, each stage or step")
        ->check(CLI::IsMember(captures))
        ->capture_default_str()
        ->group(group);
    m_app.add_option("--kernels", m_cut, "resident: cut of a stage: auto, plain, grouped or fused")
        ->check(CLI::IsMember(cuts))
        ->capture_default_str()
        ->group(group);
    m_app.add_option("-o,--output", s.output, "folder for everything written")
        ->capture_default_str()
        ->group(group);
    add_number("--plot-every", s.plot_every, "steps between plotfiles; 0: first and last", count,
               group);
    m_app
        .add_option("--plot-format", m_plots,
                    "amrex: folders for yt, ParaView, VisIt; vtkhdf: files for ParaView")
        ->check(CLI::IsMember(plot_formats))
        ->capture_default_str()
        ->group(group);
    add_number("--restart-every,--checkpoint-every", s.restart_every,
               "steps between restart files; 0: last", count, group);
    m_app
        .add_option("--restart", s.restart_from,
                    "continue from this restart file; latest: from that of the highest step in the "
                    "output folder, if there is one")
        ->check(CLI::ExistingFile | CLI::IsMember({"latest"}))
        ->group(group);
    m_app.add_flag("!--no-restart-file", s.write_restart, "write no restart file")->group(group);
    m_app.add_flag("!--no-plots", s.write_plots, "write no plotfiles")->group(group);
    m_app.add_flag("!--no-progress", s.progress, "no progress bar")->group(group);
    m_app.add_option("--json", s.json, "write metrics and checks to this file")->group(group);
  }

  void add_runtime() {
    starling::runtime_options& r = m_settings.runtime;
    constexpr const char* group = "Runtime (short forms of --starling-…)";
    add_number("--workers", r.workers, "worker threads; 0: one for each core", within(0, 4096),
               group);
    for (const char* name : {"backend", "completion", "streams", "devices"})
      m_app.add_option(std::string("--") + name, m_extra[name], "see --starling-help")
          ->group(group);
    m_app.get_option("--streams")
        ->description(fmt::format("see --starling-help [16; staged and aggregated on a GPU {}]",
                                  gpu_streams));
    m_app.add_option("--trace", r.trace_file, "timeline for ui.perfetto.dev")->group(group);
  }

  template <class Number>
  void add_number(const char* name, Number& value, const std::string& help,
                  const CLI::Validator& check, const char* group) {
    m_app.add_option(name, value, help)->check(check)->capture_default_str()->group(group);
  }

  void finish() {
    settings& s = m_settings;
    s.place = residencies.at(m_place);
    s.balance.kind = balances.at(m_balance);
    s.plots = plot_formats.at(m_plots);
    s.resident.aggregate = s.aggregate;
    s.staged.memory = memories.at(m_memory);
    s.resident.capture = captures.at(m_capture);
    s.resident.cut = cuts.at(m_cut);
    s.numerics.reconstruction = reconstructions.at(m_reconstruction);
    s.numerics.quadrature = quadratures.at(m_quadrature);
    if (!m_boundary.empty()) s.boundary = boundaries.at(m_boundary);
    for (const auto& [name, value] : m_extra)
      if (!value.empty()) s.runtime.extra[name] = value;
    for (const CLI::Option* option : m_app.get_options())
      if (option->count() > 0) s.given.insert(option->get_single_name());
    s.steps = m_steps.value_or(s.stop_time > 0 ? 0 : default_steps);
    if (s.min_level.value_or(s.level) > s.level)
      throw starling::option_error(
          fmt::format("--min-level {} --level {}: the largest cells would be smaller than the "
                      "smallest ones; give --min-level 0 to {}",
                      *s.min_level, s.level, s.level));
    if (limits_of(s).min > most_uniform_level)
      throw starling::option_error(fmt::format(
          "--{} {}: a mesh begins with all cells of this level, {} at most; give a lower one",
          is_adaptive(s) ? "min-level" : "level", limits_of(s).min, most_uniform_level));
    if (s.steps == 0 && s.stop_time == 0)
      throw starling::option_error("--steps 0 and --stop-time 0: the run would never end");
  }

  settings& m_settings;
  CLI::App m_app{
      "Blast waves, shock tubes, waves, vortices and instabilities of gas: Octo-Tiger's scheme on "
      "an octree, run as asynchronous tasks."};
  CLI::Option* m_config = nullptr;
  std::string m_unread;
  std::optional<long> m_steps;
  std::string m_place = "staged";
  std::string m_balance = "time";
  std::string m_plots = "amrex";
  std::string m_capture = "none";
  std::string m_cut = "auto";
  std::string m_memory = "kept";
  std::string m_reconstruction = "ppm";
  std::string m_quadrature = "nine-point";
  std::string m_boundary;
  std::map<std::string, std::string> m_extra;
};

}  // namespace

settings read_settings(int argc, char** argv) {
  settings s;
  std::vector<char*> all(argv, argv + argc);  // `parse` removes the runtime's options
  all.push_back(nullptr);
  s.runtime = starling::runtime_options::parse(argc, argv);
  command_line(s).parse(argc, argv);
  run_program_of(s.sub_grid, all.data());
  return s;
}

void suit_devices(settings& s, starling::runtime& rt) {
  if (s.place != residency::staged) return;
  starling::device& first = starling::devices(rt).device(0);
  const bool on_gpu = !first.properties().bus_id.empty();
  const bool streams_given = !rt.options().get("streams", "").empty();
  // A user who sets only the number of streams compares streams; many streams leave nothing to
  // gather.
  if (s.aggregate == 0) s.aggregate = on_gpu && !streams_given ? gpu_aggregate : 1;
  s.staged.aggregate = std::size_t(s.aggregate);
  s.staged.streams =
      on_gpu && s.aggregate > 1 && !streams_given ? std::size_t(gpu_streams) : first.pool().size();
}

level_limits limits_of(const settings& s) { return {s.min_level.value_or(s.level), s.level}; }
bool is_adaptive(const settings& s) { return limits_of(s).min < s.level; }

std::vector<std::string> without_effect(const settings& s, int ranks) {
  const struct {
    const char* option;
    bool used;
    std::string why;
  } rules[] = {{"rho-floor", s.numerics.floors.enabled, "without --floors"},
               {"refine", is_adaptive(s), "on a uniform mesh"},
               {"regrid-every", is_adaptive(s), "on a uniform mesh"},
               {"balance", ranks > 1, "on one rank"},
               {"plot-every", s.write_plots, "with --no-plots"},
               {"plot-format", s.write_plots, "with --no-plots"},
               {"restart-every", s.write_restart, "with --no-restart-file"},
               {"work-memory", s.place == residency::staged, "with --residency resident"},
               {"graph", s.place == residency::resident, "with --residency staged"},
               {"kernels", s.place == residency::resident, "with --residency staged"}};
  std::vector<std::string> lines;
  const auto tell = [&](const char* option, const std::string& why) {
    if (s.given.count(option) > 0)
      lines.push_back(fmt::format("--{} has no effect {}", option, why));
  };
  for (const auto& rule : rules)
    if (!rule.used) tell(rule.option, rule.why);
  const problem_choice& chosen = choice_of(s.problem);
  for_each_option(s, [&](const char* option, const auto&) {
    if (!chosen.has(option)) tell(option, "for problem " + s.problem);
  });
  return lines;
}

}  // namespace stars
