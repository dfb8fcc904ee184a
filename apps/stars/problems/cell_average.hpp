// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "problems/problem.hpp"

namespace stars {

/// Returns the gas of a cell from the gas at its points: its mass, momentum, kinetic and internal
/// energy are the means over the cell, by three Gauss points along each axis (exact for polynomials
/// of degree 5). The velocity is momentum over mass, and the pressure holds the kinetic energy of
/// the motion inside the cell, so that the total energy is the mean, too. `at(r)` is called with
/// `const double (&r)[3]`.
template <class Point>
gas_state cell_average(const double (&centre)[3], double dx, double gamma, const Point& at) {
  constexpr double offset[3] = {-0.38729833462074169, 0.0, 0.38729833462074169};  // sqrt(0.15)
  constexpr double weight[3] = {5.0 / 18.0, 8.0 / 18.0, 5.0 / 18.0};
  double mass = 0.0, momentum[3] = {0.0, 0.0, 0.0}, energy = 0.0;
  for (int k = 0; k < 27; ++k) {
    const int i[3] = {k % 3, k / 3 % 3, k / 9};
    double r[3];
    for (int a = 0; a < 3; ++a) r[a] = centre[a] + offset[i[a]] * dx;
    const gas_state g = at(r);
    const double w = weight[i[0]] * weight[i[1]] * weight[i[2]], m = w * g.rho;
    mass += m;
    energy += w * g.pressure / (gamma - 1.0);
    for (int a = 0; a < 3; ++a) {
      momentum[a] += m * g.v[a];
      energy += 0.5 * m * g.v[a] * g.v[a];
    }
  }
  gas_state mean{mass, 0.0, {}, at(centre).species};
  for (int a = 0; a < 3; ++a) {
    mean.v[a] = momentum[a] / mass;
    energy -= 0.5 * momentum[a] * mean.v[a];
  }
  mean.pressure = (gamma - 1.0) * energy;
  return mean;
}

}  // namespace stars
