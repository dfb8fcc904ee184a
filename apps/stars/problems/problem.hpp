// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a problem is: its gas, its boundary, its initial state, and where it needs small cells.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "mesh/mesh.hpp"
#include "problems/refinement_rule.hpp"

namespace stars {

/// The gas in a cell: averages over the cell, up to rounding.
struct gas_state {
  double rho, pressure;
  double v[3] = {0.0, 0.0, 0.0};
  int species = 0;  ///< the species that all of the gas is
};

/// A flow to be computed. Thread-safe: nothing changes after construction.
class problem {
 public:
  std::string name;
  double gamma = 1.4;
  double xscale = 1.0;  ///< half the edge of the domain
  boundary_kind boundary = boundary_kind::outflow;
  double gravity = 0.0;                ///< constant acceleration towards lower z
  std::vector<refinement_rule> rules;  ///< a leaf is refined if a group applies

  virtual ~problem() = default;

  /// Returns the initial gas in the cell with this centre and edge.
  [[nodiscard]] virtual gas_state gas(const double (&centre)[3], double dx) const = 0;

  /// Returns the gas in that cell at a time, if the flow has a solution in closed form.
  [[nodiscard]] virtual std::optional<gas_state> exact(const double (&/*centre*/)[3], double /*dx*/,
                                                       double /*time*/) const {
    return std::nullopt;
  }

 protected:
  /// \throws std::invalid_argument if a value is impossible
  problem(std::string called, double adiabatic, double half_width, boundary_kind beyond);
};

/// Fills a sub-grid [15][8][8][8] with the initial state of a problem. The spin is zero.
void fill_subgrid(const problem& flow, const subgrid_frame& at, double* data);

/// Returns the initial state on the leaves of a tree, without its data.
[[nodiscard]] snapshot initial_header(const problem& flow, octree tree);

/// Returns the initial data [leaf][15][8][8][8] of the leaves `first` … `first + count - 1`.
[[nodiscard]] std::vector<double> initial_data(const problem& flow, const mesh& grid, int first,
                                               int count);

/// Returns the initial state on the leaves of a tree.
[[nodiscard]] snapshot initial_state(const problem& flow, octree tree);

/// Returns the initial state on a uniform grid.
/// \throws std::invalid_argument if the level is impossible
[[nodiscard]] snapshot initial_state(const problem& flow, int level);

/// The L1 error of the density, sum |rho - exact| dV / V, added up leaf by leaf. If the parts of
/// the domain add their leaves in the order of the tree, the result does not depend on the parts.
struct density_error_sum {
  double sum = 0.0;
  double volume = 0.0;
  bool is_exact = true;  ///< the flow has an exact solution

  /// Adds leaves. `own` has the data of the leaves from number `first` on.
  void add(const problem& flow, const snapshot& own, int first);
  /// Returns the error, if the flow has an exact solution.
  [[nodiscard]] std::optional<double> value() const {
    return is_exact ? std::optional(sum / volume) : std::nullopt;
  }
};

/// Returns the L1 error of the density of a whole state, if the flow has an exact solution.
[[nodiscard]] std::optional<double> density_error(const problem& flow, const snapshot& state);

}  // namespace stars
