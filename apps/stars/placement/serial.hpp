// SPDX-License-Identifier: Apache-2.0
/// \file
/// The serial driver: the reference that every driver must match bit by bit.
#pragma once

#include <array>
#include <limits>
#include <stdexcept>
#include <vector>

#include "hydro/scheme.hpp"
#include "hydro/stage.hpp"
#include "hydro/update.hpp"
#include "mesh/mesh.hpp"
#include "mesh/part_plan.hpp"
#include "placement/step.hpp"

namespace stars {

/// A cell whose density is not positive or whose entropy tracer is negative, or in which one of
/// them is NaN.
struct unphysical_cell {
  node_key node;         ///< the sub-grid
  std::ptrdiff_t index;  ///< number of the sub-grid times 512 plus the cell's position in it
  long step;             ///< steps completed before the failing one
  double time;
  int field;
  double value;
};
/// Returns the fault in a cell. `subgrid` is the data of the cell's sub-grid.
[[nodiscard]] unphysical_cell unphysical_in(const mesh& grid, const double* subgrid,
                                            std::ptrdiff_t index, long step, double time);

class unphysical_state : public std::runtime_error, public unphysical_cell {
 public:
  explicit unphysical_state(const unphysical_cell& found);
  unphysical_state(const snapshot& state, std::ptrdiff_t index);
  triple cell;  ///< global position on the level of its sub-grid
};

/// How loops over a kernel's range run: in vectors if the kernel supports them, or one index at a
/// time.
enum class loop_kind { vectors, single };

/// Advances a snapshot in place. Uses one thread; keeps the work arrays between steps.
class serial_driver {
 public:
  explicit serial_driver(const snapshot& state, const scheme& options,
                         loop_kind loops = loop_kind::vectors);

  /// Does a step that does not pass `stop`. Returns dt.
  /// \throws unphysical_state with the state in which the fault was found
  double advance(double stop = std::numeric_limits<double>::infinity());

  const snapshot& state() const { return m_state; }
  /// Returns the fluxes [3][15][576] of a sub-grid for the present state, with ghosts from its
  /// neighbours.
  std::vector<double> fluxes_of(int subgrid);

 private:
  void perform(const step_entry& entry);
  void restrict_cells(field_set fields);
  void prolong_cells(field_set fields);
  void find_fluxes();
  void compute_fluxes(int slot, double* fluxes);
  void find_rates(int slot, const double* fluxes);
  void correct();
  void choose_time_step();
  void update_state(int stage);
  void check();
  void synchronize();
  void close_step();

  template <class Kernel>
  void run(const Kernel& kernel) const;
  int width() const;

  snapshot m_state;
  scheme m_scheme;
  loop_kind m_loops;
  part_plan m_plan;
  std::array<double, clock_entry::count> m_clock{};
  /// An array that begins at a cache line, so that a vector of eight lanes is in one line.
  class work_array {
   public:
    explicit work_array(int size) : m_lines(static_cast<std::size_t>(padded(size, 8) / 8)) {}
    double* data() { return m_lines.data()->values; }

   private:
    struct alignas(64) line {
      double values[8] = {};
    };
    std::vector<line> m_lines;
  };
  // The work arrays of one sub-grid.
  work_array m_u{ghosted.block}, m_pressure{pressure_block}, m_jump{jump_block},
      m_points{point_block}, m_fluxes{flux_block}, m_speeds{speed_block}, m_egas{ghosted.field};
  // The arrays of the whole domain.
  std::vector<double> m_live;  // [slots][15][512]
  std::vector<double> m_start, m_rate, m_leaving, m_amount, m_fastest, m_faults;
  std::vector<double> m_means;      // [rows][15][4][4]: fluxes through faces between levels
  std::vector<double> m_corrected;  // fluxes of corrected leaves
};

}  // namespace stars
