// SPDX-License-Identifier: Apache-2.0
/// \file
/// Self-gravity on a device.
#pragma once

#include <cstddef>

#include <starling/device.hpp>

#include "gravity/solve.hpp"

namespace stars {

/// The fast multipole method of `serial_gravity`, with the same bits, on a device: its tables and
/// the moments and expansions of a tree stay in the memory of the device. A solver is for one tree
/// and one stream at a time.
class device_gravity {
 public:
  /// Allocates memory and uploads the tables. All solves must run on the stream `queue`, in whose
  /// order the memory is allocated and freed. Throws std::invalid_argument if the tree is periodic,
  /// xscale is not positive or theta is out of its range; starling::out_of_memory if the arrays do
  /// not fit.
  device_gravity(starling::device& where, starling::stream& queue, const octree& tree,
                 double xscale, const gravity_options& options);

  /// Submits the kernels of a solve: results <- the potential and the acceleration, see
  /// `serial_gravity::solve` and `solve_again`. The density and the results, [leaves][4][512], are
  /// in memory of the device. Throws starling::usage_error if centres of mass are to be kept before
  /// any were found.
  void solve(starling::stream& queue, const density_view& density, centres_kind centres,
             double* results);

  /// Calls submit(kernel) for each kernel of a solve in its place, for measurements.
  template <class Submit>
  void for_each_kernel(const density_view& density, centres_kind centres, double* results,
                       const Submit& submit) {
    const gravity_arrays arrays = m_memory.arrays(results);
    const bool corrects = m_options.corrects_torque;
    if (m_target.width > 1)
      submit_solve<gravity_form::swept>(m_plan, arrays, density, centres, corrects, m_target,
                                        submit);
    else
      submit_solve<gravity_form::grouped>(m_plan, arrays, density, centres, corrects, m_target,
                                          submit);
  }

  /// Returns the memory of a solver in bytes.
  [[nodiscard]] std::size_t bytes() const { return m_copy.size() + m_memory.bytes(); }

 private:
  gravity_options m_options;
  gravity_tables m_tables;
  gravity_target m_target;
  bool m_has_centres = false;
  starling::buffer<std::byte> m_copy;  ///< of the tables
  gravity_plan m_plan;                 ///< addresses in the copy
  gravity_memory<starling::buffer<double>> m_memory;
};

}  // namespace stars
