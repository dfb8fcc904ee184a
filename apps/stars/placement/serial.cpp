// SPDX-License-Identifier: Apache-2.0
#include "placement/serial.hpp"

#include <cstdio>

#include "hydro/time_step.hpp"
#include "hydro/update.hpp"
#include "kernel/loop.hpp"
#include "transfer/ghosts.hpp"

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
                "%s = %.17g in cell (%d, %d, %d), sub-grid %d, at step %ld, time %.17g",
                field_names[static_cast<std::size_t>(u.field)], u.value, g.x, g.y, g.z,
                static_cast<int>(u.index / cells_per_subgrid), u.step, u.time);
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
    : m_state(state), m_scheme(options),
      m_tables(state.grid, state.boundary, partition(state.grid), options.error.dropped_direction),
      m_loops(loops) {
  const auto n = static_cast<std::size_t>(state.grid.subgrid_count());
  m_rate.resize(n * compact.block);
  m_leaving.resize(n * field_count);
  m_amount.resize(n * field_count);
  m_fastest.resize(n);
  m_faults.resize(n * edge * edge);
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
    begin_stage(stage);
    if (stage == 0) choose_time_step();
    finish_stage(stage);
    check();
  }
  synchronize();
  run(end_step{m_amount.data(), m_state.outflow.data(), m_clock.data(),
               m_state.grid.subgrid_count()});
  m_state.time = m_clock[clock_entry::time];
  m_state.step += 1;
  return m_clock[clock_entry::dt];
}

void serial_driver::begin_stage(int stage) {
  for (int n = 0; n < m_state.grid.subgrid_count(); ++n) {
    const auto k = static_cast<std::size_t>(n);
    const subgrid_frame* frame = &m_tables.frames[k];
    gather_ghosts(n);
    compute_fluxes(n);
    if (stage == 0) run(reduce_max{m_speeds.data(), &m_fastest[k], speed_block, 1});
    run(divergence{m_fluxes.data(), &m_state.data[k * compact.block], &m_rate[k * compact.block],
                   frame, 1, m_scheme.omega});
    run(outflow_rate{m_fluxes.data(), &m_leaving[k * field_count], frame, 1});
  }
}

void serial_driver::gather_ghosts(int n) {
  run(ghosts_of(m_state.data.data(), m_tables.view(), n, width(), m_u.data()));
}

void serial_driver::compute_fluxes(int n) {
  const stage_arrays arrays{m_u.data(),      m_u.data(),      m_pressure.data(), m_jump.data(),
                            m_points.data(), m_fluxes.data(), m_speeds.data()};
  const stage_kernels k =
      make_stage(arrays, &m_tables.frames[static_cast<std::size_t>(n)], 1, m_scheme, width());
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
  const int count = m_state.grid.subgrid_count();
  run(outflow_update{m_amount.data(), m_leaving.data(), m_clock.data(), count, stage});
  double* u = m_state.data.data();
  run(update{u, u, m_start.data(), m_rate.data(), m_clock.data(), count, stage});
  if (m_scheme.floors.enabled) {
    run(apply_floors{m_state.data.data(), count, m_scheme.effective_gamma(), m_scheme.floors});
  }
}

void serial_driver::check() {
  const int count = m_state.grid.subgrid_count();
  run(find_fault{m_state.data.data(), m_faults.data(), m_state.grid.cell_count(), count});
  double first = 0.0;
  run(reduce_max{m_faults.data(), &first, static_cast<int>(m_faults.size()), 1});
  if (first != 0.0) {
    throw unphysical_state(m_state, find_fault::cell_of(m_state.grid.cell_count(), first));
  }
}

void serial_driver::synchronize() {
  for (int n = 0; n < m_state.grid.subgrid_count(); ++n) {
    double* mine = m_state.data.data() + index_type{n} * compact.block;
    run(ghosts_of(m_state.data.data(), m_tables.view(), n, width(), m_egas.data(), true));
    run(synchronize_tau{mine, m_egas.data(), 1, m_scheme.effective_gamma()});
  }
}

std::vector<double> serial_driver::fluxes_of(int n) {
  gather_ghosts(n);
  compute_fluxes(n);
  return std::vector<double>(m_fluxes.data(), m_fluxes.data() + flux_block);
}

}  // namespace stars
