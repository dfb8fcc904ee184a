// SPDX-License-Identifier: Apache-2.0
/// \file
/// The problems: shock tube, point explosion, sound wave.
#pragma once

#include <memory>

#include "mesh/mesh.hpp"
#include "problems/problem.hpp"

namespace stars {

/// Riemann problem of Sod (1978) across a plane through the origin, outflow on all sides.
/// (rho, p) = (1, 1) and (0.125, 0.1), gamma 1.4; left gas is species 0, right gas species 1.
struct sod_options {
  double polar = 90.0;   ///< degrees from the z axis to the plane's normal
  double azimuth = 0.0;  ///< degrees from the x axis to its projection; normal = x by default
  double gamma = 1.4;
  double xscale = 1.0;
};

/// Returns the radius of the heated ball, which then has 160 cells of this level.
inline double default_radius(int level, double xscale) {
  return 3.5 * (2.0 * xscale / (edge << level));
}

/// Sedov-Taylor blast: `energy` is spread evenly over the cells whose centre is closer than
/// `radius`.
struct blast_options {
  double energy = 1.0;
  double radius = 0.0;  ///< 0: default_radius
  double gamma = 1.4;
  double ambient = 1e-20;  ///< internal energy density outside
  double xscale = 1.0;
  boundary_kind boundary = boundary_kind::outflow;
};

/// Periodic sound wave travelling along an axis: rho = 1, p = 1/gamma (sound speed 1) and the
/// acoustic eigenmode with `amplitude` in density. The domain is one wavelength, so that the wave
/// returns after the time 2 xscale. Values are cell averages up to rounding.
struct wave_options {
  double amplitude = 1e-6;
  int axis = 0;
  double gamma = 5.0 / 3.0;
  double xscale = 1.0;
};

/// \throws std::invalid_argument whose text begins with the option, if a value is impossible
[[nodiscard]] std::unique_ptr<problem> sod_problem(const sod_options& options = {});
/// The ball is heated as it is on a grid of `finest_level`. In coarser cells it has a radius of 3.5
/// cells at least, so that refinement from a coarse mesh finds it.
[[nodiscard]] std::unique_ptr<problem> blast_problem(int finest_level,
                                                     const blast_options& options = {});
[[nodiscard]] std::unique_ptr<problem> linear_wave_problem(const wave_options& options = {});

/// Return the initial states on uniform grids.
inline snapshot make_sod(int level, const sod_options& options = {}) {
  return initial_state(*sod_problem(options), level);
}
inline snapshot make_blast(int level, const blast_options& options = {}) {
  return initial_state(*blast_problem(level, options), level);
}
inline snapshot make_linear_wave(int level, const wave_options& options = {}) {
  return initial_state(*linear_wave_problem(options), level);
}

}  // namespace stars
