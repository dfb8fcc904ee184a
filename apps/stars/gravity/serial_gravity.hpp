// SPDX-License-Identifier: Apache-2.0
/// \file
/// Self-gravity by one thread: the reference that every placement must match bit by bit.
#pragma once

#include <span>
#include <vector>

#include "gravity/solve.hpp"

namespace stars {

/// The potential of the mass in the cells of a tree, with G = 1, by a fast multipole method. The
/// domain is isolated. The work is linear in the number of cells. A solver is for one tree; its
/// functions may be called by one thread at a time.
class serial_gravity {
 public:
  /// Throws std::invalid_argument if the tree is periodic, xscale not positive or theta out of its
  /// range. `form`: plain or swept.
  serial_gravity(const octree& tree, double xscale, const gravity_options& options,
                 gravity_form form = gravity_form::swept);

  /// results <- the potential of a density and the acceleration, which exert no force and no torque
  /// on the whole but rounding. [leaves][4][512], in the order of cell_order.hpp. Each density must
  /// be positive: a cell of an interior node without mass has no centre, and all results are NaN.
  /// Throws std::invalid_argument if `results` has another size.
  void solve(const density_view& density, std::span<double> results);
  /// results <- the potential of a density of any sign and the acceleration without correction. The
  /// moments are those about the centres of mass that the last `solve` has found. For two
  /// densities a and b, Σ a φ(b) and Σ b φ(a) are equal but for rounding. Throws std::logic_error
  /// before the first `solve`.
  void solve_again(const density_view& density, std::span<double> results);

 private:
  void run(const density_view& density, std::span<double> results, centres_kind centres);

  gravity_options m_options;
  gravity_form m_form;
  gravity_tables m_tables;
  gravity_plan m_plan;
  gravity_sizes m_sizes;
  gravity_memory<std::vector<double>> m_memory;
  bool m_has_centres = false;
};

}  // namespace stars
