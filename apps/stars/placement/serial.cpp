// SPDX-License-Identifier: Apache-2.0
#include "placement/serial.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "hydro/time_step.hpp"
#include "hydro/update.hpp"
#include "kernel/loop.hpp"
#include "transfer/flux_correction.hpp"
#include "transfer/ghosts.hpp"
#include "transfer/prolongation.hpp"
#include "transfer/restriction.hpp"

namespace stars {
namespace {

triple global_of(const unphysical_cell& u) {
  const triple p = u.node.place;
  const int k = static_cast<int>(u.index % cells_per_subgrid);
  return {p.x * edge + k % edge, p.y * edge + k / edge % edge, p.z * edge + k / (edge * edge)};
}

std::string describe(const unphysical_cell& u) {
  const triple g = global_of(u);
  char text[256];
  std::snprintf(text, sizeof text,
                "%s = %.17g in cell (%d, %d, %d) of level %d, sub-grid %d, at step %ld, time %.17g",
                field_names[static_cast<std::size_t>(u.field)], u.value, g.x, g.y, g.z,
                u.node.level, static_cast<int>(u.index / cells_per_subgrid), u.step, u.time);
  return text;
}

}  // namespace

unphysical_cell unphysical_in(const mesh& grid, const double* subgrid, std::ptrdiff_t index,
                              long step, double time) {
  const double* cell = subgrid + index % cells_per_subgrid;
  const int wrong = cell[field::rho * compact.field] > 0.0 ? field::tau : field::rho;
  const node_key& node = grid.tree().key(static_cast<int>(index / cells_per_subgrid));
  return {node, index, step, time, wrong, cell[wrong * compact.field]};
}

unphysical_state::unphysical_state(const unphysical_cell& found)
    : std::runtime_error(describe(found)), unphysical_cell(found), cell(global_of(found)) {}

unphysical_state::unphysical_state(const snapshot& state, std::ptrdiff_t where)
    : unphysical_state(unphysical_in(state.grid,
                                     state.data.data() + where / cells_per_subgrid * compact.block,
                                     where, state.step, state.time)) {}

serial_driver::serial_driver(const snapshot& state, const scheme& options, loop_kind loops)
    : m_state(state), m_scheme(options), m_loops(loops),
      m_plan(plan_transfers(state.grid.tree().with_boundary(state.boundary), state.grid.xscale())) {
  drop_direction(m_plan, options.error.dropped_direction);
  const auto n = static_cast<std::size_t>(state.grid.subgrid_count());
  m_live = state.data;
  m_live.resize(static_cast<std::size_t>(m_plan.slot_count()) * compact.block);
  m_rate.resize(n * compact.block);
  m_leaving.resize(n * field_count);
  m_amount.resize(n * field_count);
  m_fastest.resize(n);
  m_faults.resize(n * edge * edge);
  number_seam();
}

/// Gives rows to the leaves beside a change of level.
void serial_driver::number_seam() {
  m_row_of.assign(static_cast<std::size_t>(m_plan.leaves), -1);
  const auto row = [this](int leaf) {
    int& known = m_row_of[static_cast<std::size_t>(leaf)];
    if (known < 0) {
      known = static_cast<int>(m_seam.size());
      m_seam.push_back(leaf);
      m_seam_frames.push_back(m_plan.frames[static_cast<std::size_t>(leaf)]);
    }
    return known;
  };
  for (face_link link : m_plan.corrections) {
    link.coarse = row(link.coarse);
    for (int& fine : link.fine) fine = row(fine);
    m_corrections.push_back(link);
  }
  m_seam_fluxes.resize(m_seam.size() * flux_block);
  m_seam_fastest.resize(m_seam.size());
}

int serial_driver::width() const {
  return m_loops == loop_kind::vectors ? static_cast<int>(host_vector::size()) : 1;
}

template <class Kernel>
void serial_driver::run(const Kernel& kernel) const {
  run_loop(kernel, m_loops == loop_kind::vectors);
}

double serial_driver::advance(double stop) {
  m_clock[clock_entry::time] = m_state.time;
  m_clock[clock_entry::stop] = stop;
  m_start = m_state.data;
  for (int stage = 0; stage < stage_count; ++stage) {
    begin_stage();
    if (stage == 0) choose_time_step();
    finish_stage(stage);
    check();
  }
  synchronize();
  std::copy_n(m_live.begin(), m_state.data.size(), m_state.data.begin());
  run(end_step{m_amount.data(), m_state.outflow.data(), m_clock.data(), m_plan.leaves});
  m_state.time = m_clock[clock_entry::time];
  m_state.step += 1;
  return m_clock[clock_entry::dt];
}

/// Fills the slots of nodes that are not leaves.
void serial_driver::fill_other_levels() {
  double* u = m_live.data();
  run(restriction{u, u, m_plan.restrictions.data(), int(m_plan.restrictions.size())});
  run(prolongation{u, u, m_plan.frames.data(), m_plan.sources.data(), m_plan.prolongations.data(),
                   int(m_plan.prolongations.size()), theta_of_ghosts, width() > 1 ? width() : 0});
}

void serial_driver::begin_stage() {
  fill_other_levels();
  compute_seam_fluxes();
  for (int n = 0; n < m_plan.leaves; ++n) {
    const auto k = static_cast<std::size_t>(n);
    if (m_row_of[k] >= 0) {
      const auto row = static_cast<std::size_t>(m_row_of[k]);
      m_fastest[k] = m_seam_fastest[row];
      finish_fluxes(n, &m_seam_fluxes[row * flux_block]);
    } else {
      gather_ghosts(n);
      compute_fluxes(n, m_fluxes.data());
      m_fastest[k] = fastest_of(n);
      finish_fluxes(n, m_fluxes.data());
    }
  }
}

/// Computes the fluxes of the leaves beside a change of level. Coarse faces get the means of the
/// fine fluxes.
void serial_driver::compute_seam_fluxes() {
  for (std::size_t row = 0; row < m_seam.size(); ++row) {
    gather_ghosts(m_seam[row]);
    compute_fluxes(m_seam[row], &m_seam_fluxes[row * flux_block]);
    m_seam_fastest[row] = fastest_of(m_seam[row]);
  }
  if (m_scheme.error.fluxes_uncorrected) return;
  run(correct_fluxes{m_seam_fluxes.data(), m_seam_frames.data(), m_corrections.data(),
                     int(m_corrections.size())});
}

/// Returns the fastest signal of the sub-grid whose fluxes were computed last, in units of the
/// finest cells: a_max / dx is as large as that of a signal of this speed in the finest cells.
double serial_driver::fastest_of(int n) {
  double most = 0.0;
  run(reduce_max{m_speeds.data(), &most, speed_block, 1});
  const auto coarser = m_state.grid.level() - m_plan.keys[static_cast<std::size_t>(n)].level;
  return std::ldexp(most, -coarser);
}

void serial_driver::finish_fluxes(int n, const double* fluxes) {
  const auto k = static_cast<std::size_t>(n);
  const subgrid_frame* frame = &m_plan.frames[k];
  run(divergence{fluxes, &m_live[k * compact.block], &m_rate[k * compact.block], frame, 1,
                 m_scheme.omega});
  run(outflow_rate{fluxes, &m_leaving[k * field_count], frame, 1});
}

void serial_driver::gather_ghosts(int n) {
  run(ghosts_of(m_live.data(), m_plan.view(), n, width(), m_u.data()));
}

void serial_driver::compute_fluxes(int n, double* fluxes) {
  const stage_arrays arrays{m_u.data(),      m_u.data(), m_pressure.data(), m_jump.data(),
                            m_points.data(), fluxes,     m_speeds.data()};
  const stage_kernels k =
      make_stage(arrays, &m_plan.frames[static_cast<std::size_t>(n)], 1, m_scheme, width());
  run(k.pressure);
  run(k.jump);
  run(k.prepare);
  run(k.points);
  run(k.fluxes);
}

void serial_driver::choose_time_step() {
  run(time_step{m_fastest.data(), m_clock.data(), static_cast<int>(m_fastest.size()), m_scheme.cfl,
                m_state.grid.dx()});
}

void serial_driver::finish_stage(int stage) {
  const int count = m_plan.leaves;
  run(outflow_update{m_amount.data(), m_leaving.data(), m_clock.data(), count, stage});
  double* u = m_live.data();
  run(update{u, u, m_start.data(), m_rate.data(), m_clock.data(), count, stage});
  if (m_scheme.floors.enabled)
    run(apply_floors{u, count, m_scheme.effective_gamma(), m_scheme.floors});
}

void serial_driver::check() {
  const int count = m_plan.leaves;
  run(find_fault{m_live.data(), m_faults.data(), m_state.grid.cell_count(), count});
  double first = 0.0;
  run(reduce_max{m_faults.data(), &first, static_cast<int>(m_faults.size()), 1});
  if (first == 0.0) return;
  std::copy_n(m_live.begin(), m_state.data.size(), m_state.data.begin());
  throw unphysical_state(m_state, find_fault::cell_of(m_state.grid.cell_count(), first));
}

void serial_driver::synchronize() {
  fill_other_levels();
  for (int n = 0; n < m_plan.leaves; ++n) {
    run(ghosts_of(m_live.data(), m_plan.view(), n, width(), m_egas.data(), true));
    run(synchronize_tau{&m_live[static_cast<std::size_t>(n) * compact.block], m_egas.data(), 1,
                        m_scheme.effective_gamma()});
  }
}

std::vector<double> serial_driver::fluxes_of(int n) {
  fill_other_levels();
  gather_ghosts(n);
  compute_fluxes(n, m_fluxes.data());
  return std::vector<double>(m_fluxes.data(), m_fluxes.data() + flux_block);
}

}  // namespace stars
