// SPDX-License-Identifier: Apache-2.0
#include "setup.hpp"

#include <fmt/format.h>

#include <starling/core/error.hpp>

#include "physics/problems.hpp"

namespace sedov {
namespace {

snapshot make_state(const settings& s) {
  if (s.problem == "sod") {
    sod_options o;
    o.polar = s.polar;
    o.azimuth = s.azimuth;
    o.xscale = s.xscale;
    o.gamma = s.gamma.value_or(o.gamma);
    return make_sod(s.level, o);
  }
  if (s.problem == "linear-wave") {
    wave_options o;
    o.amplitude = s.amplitude;
    o.axis = s.axis;
    o.xscale = s.xscale;
    o.gamma = s.gamma.value_or(o.gamma);
    return make_linear_wave(s.level, o);
  }
  blast_options o;
  o.energy = s.energy;
  o.radius = s.radius;
  o.xscale = s.xscale;
  o.gamma = s.gamma.value_or(o.gamma);
  return make_blast(s.level, o);
}

std::string text_of(const parameter& p) {
  return std::visit([](const auto& v) { return fmt::format("{}", v); }, p);
}

snapshot read_state(const settings& s) {
  restart content = read_restart(s.restart_from);
  for (const auto& [name, mine] : restart_parameters(s)) {
    const auto theirs = content.scheme.find(name);
    if (theirs != content.scheme.end() && theirs->second == mine) continue;
    throw starling::option_error(fmt::format(
        "--restart {}: written with {} = {}, this run has {}; give the same option to go on",
        s.restart_from, name, theirs == content.scheme.end() ? "(none)" : text_of(theirs->second),
        text_of(mine)));
  }
  return std::move(content.state);
}

}  // namespace

snapshot first_state(const settings& s) {
  snapshot state = s.restart_from.empty() ? make_state(s) : read_state(s);
  if (s.boundary) state.boundary = *s.boundary;
  return state;
}

std::map<std::string, parameter> restart_parameters(const settings& s) {
  return {{"reconstruction", std::int64_t(s.numerics.reconstruction)},
          {"quadrature", std::int64_t(s.numerics.quadrature)},
          {"cfl", s.numerics.cfl},
          {"omega", s.numerics.omega},
          {"floors", std::int64_t(s.numerics.floors.enabled)},
          {"rho_floor", s.numerics.floors.rho}};
}

}  // namespace sedov
