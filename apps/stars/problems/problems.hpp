// SPDX-License-Identifier: Apache-2.0
/// \file
/// The problems: shock tube, point explosion, sound wave, uniform flow, vortex, shear layers,
/// heavy gas above light gas.
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

/// Uniform flow with rho = p = 1, periodic: its exact solution is the initial state.
struct uniform_flow_options {
  double speed = 1.0;
  double polar = 90.0;   ///< degrees from the z axis to the velocity
  double azimuth = 0.0;  ///< degrees from the x axis to its projection
  double gamma = 1.4;
  double xscale = 1.0;
};

/// Returns the radius of the vortex for which its velocity on the faces of the domain is 3e-5 of
/// the largest one.
inline double default_vortex_radius(double xscale) { return 0.2 * xscale; }

/// Isentropic vortex of Shu (1998) along the z axis in a uniform flow with rho = p = 1, periodic.
/// It moves with the flow and keeps its form, up to the velocities that it has at its images.
struct vortex_options {
  double strength = 5.0;
  double radius = 0.0;   ///< 0: default_vortex_radius
  double speed = 1.0;    ///< of the flow, in the plane z = 0
  double azimuth = 0.0;  ///< degrees from the x axis to its direction
  double gamma = 1.4;
  double xscale = 1.0;
};

/// Kelvin-Helmholtz instability of McNally, Lyra and Passy (2012), periodic: streams of (rho, vx) =
/// (1, 0.5) and, in the middle half of the domain along y, (2, -0.5), with p = 2.5 and smooth
/// layers between them; v_y = amplitude sin(2 pi x / (edge / 2)). Lengths are in units of the edge
/// of the domain: with xscale 0.5 times are those of the paper.
struct shear_options {
  double amplitude = 0.01;
  double width = 0.025;  ///< of a layer: e-folding length over the edge of the domain
  double gamma = 5.0 / 3.0;
  double xscale = 1.0;
};

/// Rayleigh-Taylor instability between reflecting walls: density 2 above and 1 below z = 0, with a
/// smooth interface, p = 2.5 at z = 0 and in equilibrium elsewhere; v_z = amplitude cos(k x) cos(k
/// z/2) with k = pi / xscale, without divergence.
struct layer_options {
  double amplitude = 0.01;
  double width = 0.1;    ///< of the interface: scale of its tanh over the edge of the domain
  double gravity = 0.5;  ///< towards lower z
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
[[nodiscard]] std::unique_ptr<problem> uniform_flow_problem(
    const uniform_flow_options& options = {});
[[nodiscard]] std::unique_ptr<problem> vortex_problem(const vortex_options& options = {});
[[nodiscard]] std::unique_ptr<problem> kelvin_helmholtz_problem(const shear_options& options = {});
[[nodiscard]] std::unique_ptr<problem> rayleigh_taylor_problem(const layer_options& options = {});

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
