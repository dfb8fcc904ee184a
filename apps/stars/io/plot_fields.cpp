// SPDX-License-Identifier: Apache-2.0
#include "io/plot_fields.hpp"

#include <algorithm>
#include <cmath>

namespace stars {

namespace {

// Below this fraction of the total energy the internal energy is taken from the entropy tracer.
constexpr double dual_energy_switch = 0.001;

}  // namespace

std::vector<std::string> plot_field_names() {
  std::vector<std::string> names(field_names.begin(), field_names.end());
  names.front() = "density";  // yt's name for this field
  for (const char* name : {"pressure", "x_velocity", "y_velocity", "z_velocity"})
    names.emplace_back(name);
  return names;
}

void fill_plot_fields(std::span<const double> stored, double gamma, std::span<double> values) {
  std::copy(stored.begin(), stored.end(), values.begin());
  const auto at = [&](std::size_t f, std::size_t i) -> double& {
    return values[f * node_cells + i];
  };
  for (std::size_t i = 0; i < node_cells; ++i) {
    const double density = at(field::rho, i);
    const double momentum[3] = {at(field::sx, i), at(field::sy, i), at(field::sz, i)};
    double squares = 0.0;
    for (const double s : momentum) squares += s * s;
    const double total = at(field::egas, i);
    double internal = total - 0.5 * squares / density;
    if (internal <= dual_energy_switch * total) internal = std::pow(at(field::tau, i), gamma);
    at(stored_fields, i) = (gamma - 1.0) * internal;
    for (std::size_t axis = 0; axis < 3; ++axis)
      at(stored_fields + 1 + axis, i) = momentum[axis] / density;
  }
}

}  // namespace stars
