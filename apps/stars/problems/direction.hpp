// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cmath>
#include <numbers>

namespace stars {

/// Returns the unit vector at `polar` degrees from the z axis whose projection is at `azimuth`
/// degrees from the x axis. Components that are 0 but for rounding are 0.
inline std::array<double, 3> direction(double polar, double azimuth) {
  const auto component = [](double v) { return std::abs(v) < 1e-15 ? 0.0 : v; };
  const double a = polar * std::numbers::pi / 180.0, b = azimuth * std::numbers::pi / 180.0;
  return {component(std::sin(a) * std::cos(b)), component(std::sin(a) * std::sin(b)),
          component(std::cos(a))};
}

}  // namespace stars
