// SPDX-License-Identifier: Apache-2.0
#include "driver/problem_choice.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>

#include "problems/problems.hpp"

namespace stars {
namespace {

/// Returns the options of a problem with those that all problems have.
template <class Options>
Options common(const settings& s, Options o) {
  o.gamma = s.gamma.value_or(o.gamma);
  o.xscale = s.xscale;
  return o;
}

void set_if_zero(double& value, double own) {
  if (value == 0.0) value = own;
}

problem_choice blast_choice() {
  return {"blast",
          {"energy", "radius"},
          [](settings& s) { set_if_zero(s.radius, default_radius(s.level, s.xscale)); },
          [](const settings& s) {
            return blast_problem(s.level,
                                 common(s, blast_options{.energy = s.energy, .radius = s.radius}));
          }};
}

problem_choice sod_choice() {
  return {"sod",
          {"polar", "azimuth"},
          [](settings&) {},
          [](const settings& s) {
            return sod_problem(common(s, sod_options{.polar = s.polar, .azimuth = s.azimuth}));
          }};
}

problem_choice wave_choice() {
  return {"linear-wave",
          {"amplitude", "axis"},
          [](settings& s) { set_if_zero(s.amplitude, wave_options{}.amplitude); },
          [](const settings& s) {
            return linear_wave_problem(
                common(s, wave_options{.amplitude = s.amplitude, .axis = s.axis}));
          }};
}

problem_choice uniform_flow_choice() {
  return {"uniform-flow",
          {"speed", "polar", "azimuth"},
          [](settings&) {},
          [](const settings& s) {
            return uniform_flow_problem(common(
                s, uniform_flow_options{.speed = s.speed, .polar = s.polar, .azimuth = s.azimuth}));
          }};
}

problem_choice vortex_choice() {
  return {"vortex",
          {"strength", "radius", "speed", "azimuth"},
          [](settings& s) { set_if_zero(s.radius, default_vortex_radius(s.xscale)); },
          [](const settings& s) {
            return vortex_problem(common(s, vortex_options{.strength = s.strength,
                                                           .radius = s.radius,
                                                           .speed = s.speed,
                                                           .azimuth = s.azimuth}));
          }};
}

problem_choice kelvin_helmholtz_choice() {
  return {"kelvin-helmholtz",
          {"amplitude", "width"},
          [](settings& s) {
            set_if_zero(s.amplitude, shear_options{}.amplitude);
            set_if_zero(s.width, shear_options{}.width);
          },
          [](const settings& s) {
            return kelvin_helmholtz_problem(
                common(s, shear_options{.amplitude = s.amplitude, .width = s.width}));
          }};
}

problem_choice rayleigh_taylor_choice() {
  return {"rayleigh-taylor",
          {"amplitude", "width"},
          [](settings& s) {
            set_if_zero(s.amplitude, layer_options{}.amplitude);
            set_if_zero(s.width, layer_options{}.width);
          },
          [](const settings& s) {
            layer_options o{.amplitude = s.amplitude, .width = s.width};
            o.gravity = s.gravity.value_or(o.gravity);
            return rayleigh_taylor_problem(common(s, o));
          }};
}

}  // namespace

bool problem_choice::has(const std::string& option) const {
  return std::find(options.begin(), options.end(), option) != options.end();
}

std::span<const problem_choice> problem_choices() {
  static const std::array all = {blast_choice(),          sod_choice(),
                                 wave_choice(),           uniform_flow_choice(),
                                 vortex_choice(),         kelvin_helmholtz_choice(),
                                 rayleigh_taylor_choice()};
  return all;
}

const problem_choice& choice_of(const std::string& name) {
  std::string names;
  for (const problem_choice& c : problem_choices()) {
    if (c.name == name) return c;
    names += (names.empty() ? "" : ", ") + std::string(c.name);
  }
  throw std::invalid_argument("problem: '" + name + "' is not one of " + names);
}

}  // namespace stars
