// SPDX-License-Identifier: Apache-2.0
#include "driver/setup.hpp"

#include <limits>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

#include <starling/core/error.hpp>

#include "common/by_options.hpp"
#include "driver/problem_choice.hpp"
#include "driver/regrid.hpp"
#include "problems/refinement_expression.hpp"

namespace stars {
namespace {

using parameters = std::map<std::string, parameter>;

std::string text_of(const parameter& p) {
  return std::visit([](const auto& v) { return fmt::format("{}", v); }, p);
}

[[noreturn]] void refuse(const settings& s, const std::string& name, const std::string& theirs,
                         const std::string& mine, const char* remedy) {
  throw starling::option_error(fmt::format("--restart {}: {}: the file has {}, this run {}; {}",
                                           s.restart_from, name, theirs, mine, remedy));
}

/// Sets `mine` to the file's value. Throws if the user gave a different value.
template <class T>
void adopt(const settings& s, const std::string& name, T& mine, const T& theirs) {
  if (s.given.count(name) > 0 && mine != theirs)
    refuse(s, name, fmt::format("{}", theirs), fmt::format("{}", mine),
           "leave the option out to go on, or start anew");
  mine = theirs;
}

template <class T>
void adopt(const settings& s, const std::string& name, T& mine, const parameters& file) {
  const auto found = file.find(name);
  if (found == file.end()) return;  // a parameter of another problem
  if constexpr (std::is_integral_v<T>)
    adopt(s, name, mine, T(std::get<std::int64_t>(found->second)));
  else
    adopt(s, name, mine, std::get<T>(found->second));
}

void adopt_state(settings& s, const snapshot& state) {
  adopt(s, "problem", s.problem, state.problem);
  adopt(s, "xscale", s.xscale, state.grid.xscale());
  double gamma = s.gamma.value_or(state.gamma);
  adopt(s, "gamma", gamma, state.gamma);
  std::string boundary = name_of(s.boundary.value_or(state.boundary));
  adopt(s, "boundary", boundary, std::string(name_of(state.boundary)));
}

/// A file with levels says which ones its leaves may have; others have a uniform mesh.
void adopt_levels(settings& s, const restart& content) {
  const auto found = content.scheme.find("min-level");
  if (found == content.scheme.end()) return adopt(s, "level", s.level, content.state.grid.level());
  adopt(s, "level", s.level, content.scheme);
  int lowest = s.min_level.value_or(0);
  adopt(s, "min-level", lowest, content.scheme);
  s.min_level = lowest;
  adopt(s, "regrid-every", s.regrid_every, content.scheme);
}

/// Takes gravity from the file; files of versions without gravity have none.
void adopt_gravity(settings& s, const parameters& file) {
  const auto found = file.find("gravity");
  const double theirs = found == file.end() ? 0.0 : std::get<double>(found->second);
  double mine = s.gravity.value_or(theirs);
  adopt(s, "gravity", mine, theirs);
  s.gravity = mine;
}

void require_known_problem(const settings& s) {
  try {
    static_cast<void>(choice_of(s.problem));
  } catch (const std::invalid_argument& e) {
    throw starling::option_error(fmt::format(
        "--restart {}: {}; continue it with the version that wrote it", s.restart_from, e.what()));
  }
}

void adopt_problem(settings& s, const parameters& file) {
  choice_of(s.problem).resolve(s);
  for_each_option(s, [&](const char* name, auto& mine) { adopt(s, name, mine, file); });
}

parameters scheme_parameters(const settings& s) {
  const scheme& n = s.numerics;
  const auto text = [](bool on) { return std::string(on ? "on" : "off"); };
  return {{"reconstruction", name_of(n.reconstruction)},
          {"quadrature", name_of(n.quadrature)},
          {"cfl", n.cfl},
          {"omega", n.omega},
          {"floors", text(n.floors.enabled)},
          {"rho-floor", n.floors.rho},
          {"mutate-direction", std::int64_t(n.error.dropped_direction)},
          {"mutate-edge-terms", text(n.error.edge_terms_dropped)},
          {"mutate-gamma", n.error.gamma}};
}

void compare_schemes(const settings& s, const parameters& file) {
  for (const auto& [name, mine] : scheme_parameters(s)) {
    const auto theirs = file.find(name);
    if (theirs == file.end() || theirs->second != mine)
      refuse(s, name, theirs == file.end() ? "none" : text_of(theirs->second), text_of(mine),
             "give the file's value to go on");
  }
}

void check_goal(const settings& s, const snapshot& state) {
  if (s.steps > 0 && s.steps < state.step)
    throw starling::option_error(fmt::format(
        "--steps {}{}: the restart file {} is at step {} already; give a later one", s.steps,
        s.given.count("steps") > 0 ? "" : " (the default)", s.restart_from, state.step));
  if (s.stop_time > 0 && s.stop_time < state.time)
    throw starling::option_error(
        fmt::format("--stop-time {}: the restart file {} is at time {} already; give a later one",
                    s.stop_time, s.restart_from, state.time));
}

snapshot read_header(settings& s) {
  restart content = read_restart_header(s.restart_from);
  adopt_state(s, content.state);
  adopt_levels(s, content);
  require_known_problem(s);
  adopt_problem(s, content.scheme);
  adopt_gravity(s, content.scheme);
  compare_schemes(s, content.scheme);
  check_goal(s, content.state);
  return std::move(content.state);
}

}  // namespace

std::unique_ptr<problem> make_problem(const settings& s) {
  return apps::by_options([&] {
    settings resolved = s;
    const problem_choice& chosen = choice_of(s.problem);
    chosen.resolve(resolved);
    std::unique_ptr<problem> flow = chosen.make(resolved);
    if (s.boundary) flow->boundary = *s.boundary;
    if (s.gravity) flow->gravity = *s.gravity;
    if (!s.refine.empty()) flow->rules = parse_refinement(s.refine);
    return flow;
  });
}

namespace {

beginning new_beginning(const settings& s, int ranks) {
  const std::unique_ptr<problem> flow = make_problem(s);
  return apps::by_options([&]() -> beginning {
    if (!is_adaptive(s)) return {initial_header(*flow, octree::uniform(s.level))};
    const int enough = ranks == 1 ? std::numeric_limits<int>::max() : ranks;
    first_tree first = refine_first_tree(*flow, limits_of(s), enough);
    return {initial_header(*flow, std::move(first.tree)), first.rounds};
  });
}

}  // namespace

beginning begin_run(settings& s, int ranks) {
  beginning first = s.restart_from.empty() ? new_beginning(s, ranks) : beginning{read_header(s)};
  s.gravity = s.numerics.gravity = make_problem(s)->gravity;
  s.gamma = s.numerics.gamma = first.header.gamma;
  s.boundary = first.header.boundary;
  choice_of(s.problem).resolve(s);
  return first;
}

std::vector<double> first_data(const settings& s, const mesh& grid, int first, int count) {
  if (!s.restart_from.empty()) return read_restart_part(s.restart_from, first, count);
  const std::unique_ptr<problem> flow = make_problem(s);
  return apps::by_options([&] { return initial_data(*flow, grid, first, count); });
}

parameters restart_parameters(const settings& s) {
  parameters all = scheme_parameters(s);
  if (is_adaptive(s)) {
    all["level"] = std::int64_t(s.level);
    all["min-level"] = std::int64_t(limits_of(s).min);
    all["regrid-every"] = std::int64_t(s.regrid_every);
  }
  all["gravity"] = s.numerics.gravity;
  const problem_choice& chosen = choice_of(s.problem);
  for_each_option(s, [&](const char* name, const auto& value) {
    if (!chosen.has(name)) return;
    if constexpr (std::is_same_v<decltype(value), const int&>)
      all[name] = std::int64_t(value);
    else
      all[name] = value;
  });
  return all;
}

}  // namespace stars
