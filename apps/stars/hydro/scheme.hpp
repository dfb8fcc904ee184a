// SPDX-License-Identifier: Apache-2.0
/// \file
/// The options of the numerical scheme. The defaults are the full scheme.
#pragma once

namespace stars {

enum class reconstruction_kind : int {
  ppm,     ///< monotonised parabolas with contact steepening; extrema become flat
  minmod,  ///< minmod-limited linear profiles for every field
  ppmx     ///< parabolas that keep smooth extrema, with contact steepening
};
constexpr const char* name_of(reconstruction_kind kind) {
  return kind == reconstruction_kind::ppm    ? "ppm"
         : kind == reconstruction_kind::ppmx ? "ppmx"
                                             : "minmod";
}
/// Calls a function template `f` with the kind as its template argument.
template <class F>
constexpr void with_constant(reconstruction_kind kind, F f) {
  using enum reconstruction_kind;
  if (kind == ppm) return f.template operator()<ppm>();
  if (kind == ppmx) return f.template operator()<ppmx>();
  f.template operator()<minmod>();
}
enum class quadrature_kind : int {
  nine_point,  ///< tensor Simpson: centre 16/36, edge midpoints 4/36, vertices 1/36
  centre       ///< face centre only: 4-8 times cheaper, visibly anisotropic
};
constexpr const char* name_of(quadrature_kind kind) {
  return kind == quadrature_kind::nine_point ? "nine-point" : "centre";
}

/// Lower bounds, off by default. They trade conservation for robustness.
struct floor_values {
  bool enabled = false;
  double rho = 1e-10;     ///< below it, momenta and energies are blended towards the floor state
  double energy = 1e-20;  ///< internal energy density of the floor state
};

/// Deliberate errors. A valid verification must detect each of them.
struct mutation {
  int dropped_direction = -1;       ///< ghost direction filled from the own edge, not the neighbour
  bool fluxes_uncorrected = false;  ///< coarse faces keep their own fluxes where levels change
  bool edge_terms_dropped = false;  ///< only the face centre is summed, with its weight of 16/36
  double gamma = 0.0;               ///< if > 0, used by the kernels instead of the problem's gamma
};

struct scheme {
  reconstruction_kind reconstruction = reconstruction_kind::ppm;
  quadrature_kind quadrature = quadrature_kind::nine_point;
  double gamma = 1.4;
  double cfl = 0.4;
  double omega = 0.0;    ///< angular velocity of the grid about z
  double gravity = 0.0;  ///< constant acceleration towards lower z
  floor_values floors;
  mutation error;

  constexpr double effective_gamma() const { return error.gamma > 0 ? error.gamma : gamma; }
  /// Returns the change of the internal energy density of a gas in equilibrium over its density and
  /// the distance towards lower z.
  constexpr double weight() const { return gravity / (effective_gamma() - 1.0); }
};

/// SSP RK3: U <- (1-b) U0 + b (U + dt L(U)), with one b for each stage.
inline constexpr int stage_count = 3;
constexpr double stage_weight(int stage) {
  return stage == 0 ? 1.0 : stage == 1 ? 0.25 : 2.0 / 3.0;
}

}  // namespace stars
