// SPDX-License-Identifier: Apache-2.0
/// \file
/// The ideal gas with the dual-energy switch.
#pragma once

#include "kernel/lanes.hpp"
#include "kernel/power.hpp"

namespace stars {

/// Below this share of the total energy, the internal energy is taken from the entropy tracer.
inline constexpr double cold_share = 0.001;
/// Above this share of the largest total energy of a cell and its neighbours, the tracer is re-set
/// from the energy.
inline constexpr double hot_share = 0.1;

/// Returns the internal energy density: `internal` = egas - s^2/(2 rho), or tau^gamma where that
/// difference is lost in rounding.
template <class V>
constexpr V thermal_energy(V internal, V total, V tau, double gamma) {
  using o = ops<V>;
  const auto cold = internal <= V(cold_share) * total;
  if (!o::any(cold)) return internal;
  return o::select(cold, power(tau, gamma), internal);
}

template <class V>
constexpr V kinetic_energy(V rho, V sx, V sy, V sz) {
  return V(0.5) * ((sx * sx + sy * sy) + sz * sz) / rho;
}

}  // namespace stars
